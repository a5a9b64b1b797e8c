package manifest

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func TestFixedPort(t *testing.T) {
	const (
		deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: manager, namespace: system}\n" +
			"spec: {template: {spec: {containers: [{name: manager, args: [%s], ports: [{name: other, containerPort: 1}, {name: hooks, containerPort: 9444}]}]}}}\n"
		service       = "apiVersion: v1\nkind: Service\nmetadata: {name: webhook, namespace: system}\nspec: {ports: [%s]}\n"
		configuration = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w}\n" +
			"webhooks: [{name: w.example.com, clientConfig: {service: {name: webhook, namespace: system%s}}}]\n"
	)
	for name, tc := range map[string]struct {
		args, ports, called string
		want, wrong         string
	}{
		"a number":                     {ports: "{port: 443, targetPort: 9443}", want: "9443"},
		"a name":                       {ports: "{port: 443, targetPort: hooks}", want: "9444"},
		"the Service's own port":       {ports: "{port: 443}", want: "443"},
		"the port that is called":      {ports: "{port: 443, targetPort: 9443}, {port: 444, targetPort: 9445}", called: ", port: 444", want: "9445"},
		"the default port":             {ports: "{port: 8443, targetPort: 1}, {port: 443, targetPort: 2}", want: "2"},
		"the only port":                {ports: "{port: 9999, targetPort: 3}", want: "3"},
		"a flag":                       {args: "--webhook-bind-address=:9443", want: ""},
		"a flag in two words":          {args: "-webhook-bind-address, ':9443'", want: ""},
		"a flag, whatever the Service": {args: "--webhook-bind-address=:9443", ports: "{port: 443, targetPort: none}", want: ""},
		"a flag that looks like it":    {args: "--old-webhook-bind-address=:1, --webhook-bind-address-v2=:1", ports: "{port: 443, targetPort: 9443}", want: "9443"},
		"no such port":                 {wrong: "the Service system/webhook of the webhooks has no port"},
		"an unknown name":              {ports: "{port: 443, targetPort: none}", wrong: `leads to the port "none", which the manager's container does not have`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := Parse(fmt.Appendf(nil, deployment+"---\n"+service+"---\n"+configuration, tc.args, tc.ports, tc.called))
			g.Expect(err).NotTo(HaveOccurred())
			port, err := m.FixedPort()
			if tc.wrong != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.wrong)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(port).To(Equal(tc.want))
		})
	}
}
