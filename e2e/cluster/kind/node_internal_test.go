package kind

import "testing"

func TestGatewayOf(t *testing.T) {
	for route, want := range map[string]string{
		"default via 172.18.0.1 dev eth0":                                             "172.18.0.1",
		"default via 10.89.0.1 dev eth0 proto static metric 100\ndefault via x dev y": "10.89.0.1",
		"default dev eth0 scope link":                                                 "",
		"default via":                                                                 "",
		"":                                                                            "",
	} {
		if got := gatewayOf(route); got != want {
			t.Errorf("%q: expected %q, got %q", route, want, got)
		}
	}
}
