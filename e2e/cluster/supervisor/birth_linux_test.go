package supervisor

import "testing"

func TestStartOf(t *testing.T) {
	const rest = " 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 "
	for name, test := range map[string]struct{ stat, want string }{
		"it runs":                              {"7 (sleep) S" + rest + "1 0 4711 0", "4711"},
		"a name with a parenthesis":            {"7 (a) Z 1 (b) R" + rest + "3 0 4711 0", "4711"},
		"a zombie":                             {"7 (sleep) Z" + rest + "1 0 4711 0", ""},
		"a zombie of which nothing is left":    {"7 (sleep) Z" + rest + "0 0 4711 0", ""},
		"a zombie with a thread that yet ends": {"7 (sleep) Z" + rest + "2 0 4711 0", "4711"},
		"dead":                                 {"7 (sleep) X" + rest + "0 0 4711 0", ""},
		"no such file":                         {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := startOf([]byte(test.stat))
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("expected %q, got %q, %v", test.want, got, err)
			}
		})
	}
}
