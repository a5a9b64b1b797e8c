package manifest_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// settings are a ConfigMap and a Secret in the manager's namespace.
const settings = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: system}
data: {COLOR: red, SIZE: "3"}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: system}
data: {KEY: c2VjcmV0}
stringData: {OTHER: plain}
`

// managerWith returns manifests of a manager whose container has these fields.
func managerWith(t *testing.T, fields string) manifest.Set {
	t.Helper()
	manifests, err := manifest.Parse([]byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: system}
spec:
  template:
    metadata: {labels: {team: blue}, annotations: {example.com/zone: west}}
    spec:
      serviceAccountName: account
      containers:
      - name: manager
        resources: {limits: {cpu: 1500m, memory: 128Mi}, requests: {cpu: 10m}}
` + fields + settings))
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func TestEnvironmentOfAPod(t *testing.T) {
	for name, tc := range map[string]struct {
		fields string
		want   []string
	}{
		"fields": {`        env:
        - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: ACCOUNT, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
        - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: TEAM, valueFrom: {fieldRef: {fieldPath: "metadata.labels['team']"}}}
        - {name: ZONE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['example.com/zone']"}}}
        - {name: NONE, valueFrom: {fieldRef: {fieldPath: "metadata.labels['none']"}}}
`, []string{"NAME=manager", "NAMESPACE=system", "ACCOUNT=account", "IP=127.0.0.1", "TEAM=blue", "ZONE=west", "NONE="}},
		"resources": {`        env:
        - {name: GOMAXPROCS, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
        - {name: MILLIS, valueFrom: {resourceFieldRef: {resource: requests.cpu, divisor: 1m}}}
        - {name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
        - {name: MEBIBYTES, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
`, []string{"GOMAXPROCS=2", "MILLIS=10", "GOMEMLIMIT=134217728", "MEBIBYTES=128"}},
		"keys": {`        env:
        - {name: COLOR, valueFrom: {configMapKeyRef: {name: settings, key: COLOR}}}
        - {name: KEY, valueFrom: {secretKeyRef: {name: key, key: KEY}}}
        - {name: OTHER, valueFrom: {secretKeyRef: {name: key, key: OTHER}}}
        - {name: NONE, valueFrom: {secretKeyRef: {name: none, key: KEY, optional: true}}}
`, []string{"COLOR=red", "KEY=secret", "OTHER=plain"}},
		"all keys": {`        envFrom: [{configMapRef: {name: settings}, prefix: X_}, {secretRef: {name: none, optional: true}}]
        env: [{name: X_SIZE, value: "4"}]
`, []string{"X_COLOR=red", "X_SIZE=3", "X_SIZE=4"}},
		"references": {`        env: [{name: A, value: a}, {name: B, value: "$(A)$(B)$$(A)$$"}]
`, []string{"A=a", "B=a$(B)$(A)$"}},
		"a field that is replaced": {`        env:
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: NODE, value: node-1}
`, []string{"NODE=node-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m, err := managerWith(t, tc.fields).Manager()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(m.Env).To(Equal(tc.want))
		})
	}
}

func TestArgumentsReferToVariables(t *testing.T) {
	g := NewWithT(t)
	m, err := managerWith(t, `        command: [/manager, "$(NAMESPACE)"]
        args: ["--namespace=$(NAMESPACE)", "--literal=$$(NAMESPACE)", "--unknown=$(UNKNOWN)"]
        env: [{name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]
`).Manager()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Command).To(Equal([]string{"/manager", "system"}))
	g.Expect(m.Args).To(Equal([]string{"--namespace=system", "--literal=$(NAMESPACE)", "--unknown=$(UNKNOWN)"}))
}

func TestEnvironmentThatOnlyAPodHas(t *testing.T) {
	for fields, source := range map[string]string{
		`        env: [{name: X, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]`:          "X of the manager's Deployment manager needs its pod's spec.nodeName, which a process does not have",
		`        env: [{name: X, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}]`:           "X of the manager's Deployment manager needs its pod's metadata.uid, which a process does not have",
		`        env: [{name: X, valueFrom: {resourceFieldRef: {resource: requests.memory}}}]`: "X of the manager's Deployment manager needs the container's requests.memory, which the Deployment does not set",
		`        env: [{name: X, valueFrom: {secretKeyRef: {name: none, key: password}}}]`:     `X of the manager's Deployment manager needs the key "password" of the Secret none, which the manifests lack`,
		`        env: [{name: X, valueFrom: {configMapKeyRef: {name: settings, key: none}}}]`:  `X of the manager's Deployment manager needs the key "none" of the ConfigMap settings, which the manifests lack`,
	} {
		t.Run(source, func(t *testing.T) {
			g := NewWithT(t)
			_, err := managerWith(t, fields+"\n").Manager()
			g.Expect(errors.As(err, new(*manifest.UnknownVariableError))).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError("the variable " + source + ": set the variable to a value"))
		})
	}
	_, err := managerWith(t, "        envFrom: [{secretRef: {name: none}}]\n").Manager()
	NewWithT(t).Expect(err).To(MatchError("the manager's Deployment manager takes variables from the Secret none, which the manifests lack: add it to them"))
}
