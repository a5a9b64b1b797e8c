package conformance_test

import (
	"cmp"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

const manager = `apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: system}
spec:
  template:
    spec:
      serviceAccountName: manager
      containers:
      - name: manager
        args: [--leader-elect]
        env: [{name: COLOR, value: red}]
`

// write writes a file that is gone when the test is over.
func write(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrepare(t *testing.T) {
	g := NewWithT(t)
	executable, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	foreign := conformance.Foreign{
		Operator: executable, Manifests: write(t, "install.yaml", manager, 0o600), Args: []string{"--leader-elect=maybe"}, Env: []string{"COLOR=blue=green"},
	}
	prepared, err := foreign.Prepare(t.Context(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(prepared.Binary).To(Equal(executable))
	g.Expect(prepared.Notes).To(Equal([]string{"switched leader election off: outside of a pod, nothing says in which namespace the manager runs"}))
	manifests, err := manifest.Load(prepared.Manifests)
	g.Expect(err).NotTo(HaveOccurred())
	m, err := manifests.Manager()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Args).To(Equal([]string{"--leader-elect", "--leader-elect=false", "--leader-elect=maybe"}))
	g.Expect(m.Env).To(Equal([]string{"COLOR=red", "COLOR=blue=green"}))
}

// In a pod, the manager runs the image with its own entrypoint, and a kubelet knows what no process does.
func TestPrepareForPods(t *testing.T) {
	g := NewWithT(t)
	config := v1.Config{Entrypoint: []string{"/run.sh"}, Cmd: []string{"--verbose"}}
	archive := imagetest.Archive(t, map[string]v1.Image{"operator:1": imagetest.FromScratch(t, runtime.GOARCH, config, map[string][]byte{"run.sh": []byte("#!/bin/sh\n")})})
	foreign := conformance.Foreign{
		InPods: true, Operator: archive, Args: []string{"--color"}, Env: []string{"COLOR=blue=green"},
		Manifests: write(t, "install.yaml", strings.NewReplacer("[--leader-elect]", "[]", "env: [", "env: [{name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, ").Replace(manager), 0o600),
	}
	prepared, err := foreign.Prepare(t.Context(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(prepared.Binary).To(BeEmpty())
	g.Expect(prepared.Notes).To(BeEmpty())
	loaded, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(prepared.Archive) })
	g.Expect(err).NotTo(HaveOccurred())
	manifests, err := manifest.Load(prepared.Manifests)
	g.Expect(err).NotTo(HaveOccurred())
	_, container, err := manifests.Deployment()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(loaded).To(ConsistOf(HaveField("RepoTags", []string{container.Image})))
	g.Expect(container.ImagePullPolicy).To(Equal(corev1.PullIfNotPresent))
	g.Expect(container.Command).To(BeEmpty())
	g.Expect(container.Args).To(Equal([]string{"--verbose", "--color"}))
	g.Expect(container.Env).To(ConsistOf(HaveField("Name", "NODE_NAME"), Equal(corev1.EnvVar{Name: "COLOR", Value: "blue=green"})))

	foreign.Manifests = write(t, "install.yaml", manager, 0o600)
	prepared, err = foreign.Prepare(t.Context(), t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	manifests, err = manifest.Load(prepared.Manifests)
	g.Expect(err).NotTo(HaveOccurred())
	_, container, err = manifests.Deployment()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(container.Args).To(Equal([]string{"--leader-elect", "--color"}))
}

func TestPrepareForPodsRefuses(t *testing.T) {
	g := NewWithT(t)
	foreign := conformance.Foreign{InPods: true, Manifests: write(t, "install.yaml", manager, 0o600)}
	foreign.Operator, _ = os.Executable()
	_, err := foreign.Prepare(t.Context(), t.TempDir())
	g.Expect(err).To(MatchError(HaveSuffix("is an executable, and on a kind cluster the operator runs as an image: name the image instead, or use an embedded cluster")))
	foreign.Operator = imagetest.Archive(t, map[string]v1.Image{"operator:1": imagetest.FromScratch(t, "s390x", v1.Config{}, nil)})
	_, err = foreign.Prepare(t.Context(), t.TempDir())
	g.Expect(err).To(MatchError(HaveSuffix("is for linux/s390x, and the nodes of a kind cluster are linux/" + runtime.GOARCH + " here: build it for that platform")))
}

// informed is a manager that knows its namespace, and mounts a Secret that its manifests lack beside one that they have.
var informed = strings.Replace(manager, "        env: [", `        volumeMounts: [{name: certificate, mountPath: /certs}, {name: settings, mountPath: /settings}]
        env: [{name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}, `, 1) + `      volumes:
      - {name: certificate, secret: {secretName: serving-cert}}
      - {name: settings, secret: {secretName: settings}}
---
apiVersion: v1
kind: Secret
metadata: {name: settings, namespace: system}
`

// proxied is a manager with a proxy in front of its metrics, as scaffolds had it before 2024.
const proxied = `apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: system}
spec:
  template:
    metadata: {labels: {control-plane: controller-manager}}
    spec:
      serviceAccountName: manager
      containers:
      - {name: kube-rbac-proxy, image: example.com/proxy:1, args: [--secure-listen-address=0.0.0.0:8443]}
      - {name: manager, image: example.com/operator:1, args: [--metrics-bind-address=:8080]}
`

// other is another workload of the manifests.
const other = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: database, namespace: system}
spec:
  template:
    spec:
      containers: [{name: database, image: example.com/database:1, args: [--data=/data]}]
`

func TestPrepareFindsTheManager(t *testing.T) {
	img := imagetest.FromScratch(t, runtime.GOARCH, v1.Config{Entrypoint: []string{"/manager"}}, map[string][]byte{"manager": imagetest.Executable(t, runtime.GOARCH, false)})
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/operator:1"
	if err := crane.Push(img, reference); err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unnamed := strings.ReplaceAll(proxied, "name: manager, image", "name: operator, image")
	annotated := strings.Replace(unnamed, "metadata: {labels", "metadata: {annotations: {kubectl.kubernetes.io/default-container: operator}, labels", 1)
	ours := []string{"--metrics-bind-address=:8080"}
	leftOut := []string{"left out Deployment database: only the manager runs"}
	unlabeled := strings.Replace(proxied, "control-plane", "app", 1)
	for name, tc := range map[string]struct {
		manifests, operator string
		args, notes         []string
	}{
		"by its name":                       {manifests: proxied, args: ours},
		"by the annotation":                 {manifests: annotated, args: ours},
		"by its image":                      {manifests: strings.ReplaceAll(unnamed, "example.com/operator:1", reference), operator: reference, args: ours},
		"by its image, not by its name":     {manifests: strings.ReplaceAll(proxied, "example.com/proxy:1", reference), operator: reference, args: []string{"--secure-listen-address=0.0.0.0:8443"}},
		"in a StatefulSet":                  {manifests: strings.Replace(proxied, "kind: Deployment", "kind: StatefulSet", 1), args: ours},
		"in a DaemonSet":                    {manifests: strings.Replace(proxied, "kind: Deployment", "kind: DaemonSet", 1), args: ours},
		"in the Deployment with the label":  {manifests: proxied + other, args: ours, notes: leftOut},
		"in the StatefulSet with the label": {manifests: strings.Replace(proxied, "kind: Deployment", "kind: StatefulSet", 1) + other, args: ours, notes: leftOut},
		"in the Deployment with the image":  {manifests: strings.ReplaceAll(unlabeled, "example.com/operator:1", reference) + other, operator: reference, args: ours, notes: leftOut},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			foreign := conformance.Foreign{Operator: cmp.Or(tc.operator, executable), Manifests: write(t, "install.yaml", tc.manifests, 0o600)}
			prepared, err := foreign.Prepare(t.Context(), t.TempDir())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(prepared.Notes).To(Equal(tc.notes))
			manifests, err := manifest.Load(prepared.Manifests)
			g.Expect(err).NotTo(HaveOccurred())
			m, err := manifests.Manager()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(m.Args).To(Equal(tc.args))
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	nodeName := strings.Replace(manager, "env: [", "env: [{name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, ", 1)
	for name, tc := range map[string]struct {
		manifests string
		env       []string
		why       string
	}{
		"no workload": {manifests: "apiVersion: v1\nkind: Namespace\nmetadata: {name: system}\n", why: `have no Deployment, StatefulSet or DaemonSet: add the one that runs the operator$`},
		"several workloads": {
			manifests: manager + other,
			why:       `have several workloads, and any of these may run the operator: Deployment manager, Deployment database: give OPERATOR as the image that it runs, or give the pods of one of them the label control-plane$`,
		},
		"several containers": {
			manifests: strings.Replace(proxied, "name: manager, image", "name: operator, image", 1),
			why:       `^the manager's Deployment manager has the containers \["kube-rbac-proxy" "operator"\], and none is called manager: name the one that runs the operator in the annotation kubectl.kubernetes.io/default-container of its pods$`,
		},
		"a container that is not there": {
			manifests: strings.Replace(proxied, "metadata: {labels", "metadata: {annotations: {kubectl.kubernetes.io/default-container: operator}, labels", 1),
			why:       `^the manager's Deployment manager has the containers \["kube-rbac-proxy" "manager"\], and its annotation kubectl.kubernetes.io/default-container names "operator": name one of them$`,
		},
		"a field that only a pod has": {
			manifests: nodeName,
			why:       `^the variable NODE_NAME of the manager's Deployment manager needs its pod's spec.nodeName, which a process does not have: set the variable to a value, for example with --env=NODE_NAME=VALUE$`,
		},
		"but not one that has a value": {manifests: nodeName, env: []string{"NODE_NAME=node-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := conformance.Foreign{Operator: executable, Env: tc.env, Manifests: write(t, "install.yaml", tc.manifests, 0o600)}.Prepare(t.Context(), t.TempDir())
			if tc.why == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(MatchRegexp(tc.why)))
			}
		})
	}
}

func TestReadSampleRefuses(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: password}\n---\n"
	for content, why := range map[string]string{
		"# nothing\n":    "it has no object: add the custom resource that the operator serves",
		secret + manager: "it has several objects (Secret password, Deployment manager): give a file with only the custom resource that the operator serves, and name files of what it refers to as companions",
	} {
		path := write(t, "sample.yaml", content, 0o600)
		_, err := conformance.ReadSample(path)
		NewWithT(t).Expect(err).To(MatchError("read the sample " + path + ": " + why))
	}
}

// foreign are kinds that come with operators, and that a cluster may not have.
const foreign = `---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving, namespace: system}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: metrics, namespace: system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validation}
`

const serviceMonitors = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec: {group: monitoring.coreos.com, names: {kind: ServiceMonitor}}
`

// gizmos are objects that the operator converts.
const gizmos = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.test.example.com}
spec:
  group: test.example.com
  names: {kind: Gizmo}
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: webhook, namespace: system}}}}
`

func TestPrepareLeavesOutConversions(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		manifests string
		converts  bool
	}{
		"without a certificate":               {manifests: manager + foreign + gizmos},
		"not with one that the testbed makes": {manifests: informed + foreign + gizmos, converts: true},
		"nor with one that is not missing":    {manifests: manager + gizmos, converts: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			prepared, err := conformance.Foreign{Operator: executable, Manifests: write(t, "install.yaml", tc.manifests, 0o600)}.Prepare(t.Context(), t.TempDir())
			g.Expect(err).NotTo(HaveOccurred())
			note := ContainElement(HavePrefix("left out the conversion of gizmos.test.example.com: the manager mounts no Secret"))
			manifests, err := manifest.Load(prepared.Manifests)
			g.Expect(err).NotTo(HaveOccurred())
			spec := manifests.Select("CustomResourceDefinition")[0].Object["spec"]
			if tc.converts {
				g.Expect(prepared.Notes).NotTo(note)
				g.Expect(spec).To(HaveKey("conversion"))
			} else {
				g.Expect(prepared.Notes).To(note)
				g.Expect(spec).NotTo(HaveKey("conversion"))
			}
		})
	}
}

func TestPrepareLeavesOut(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	monitors := write(t, "monitors.yaml", serviceMonitors, 0o600)
	certificate := "left out Certificate serving: the cluster does not know the kind of cert-manager.io/v1"
	monitor := "left out ServiceMonitor metrics: the cluster does not know the kind of monitoring.coreos.com/v1"
	made := "made the certificate that the manager expects in /certs"
	unelected := "switched leader election off: outside of a pod, nothing says in which namespace the manager runs"
	for name, tc := range map[string]struct {
		manager                  string
		args, crds, notes, kinds []string
	}{
		"what the cluster does not know, and webhooks without a certificate": {
			manager: manager,
			notes: []string{
				certificate, monitor,
				"left out ValidatingWebhookConfiguration validation: the manager mounts no Secret and has no --webhook-cert-path, so its webhooks have no certificate",
				unelected,
			},
			kinds: []string{"Deployment"},
		},
		"not webhooks whose certificate is mounted": {
			manager: informed, notes: []string{certificate, monitor, made},
			kinds: []string{"Deployment", "Secret", "ValidatingWebhookConfiguration"},
		},
		"a manager that is a StatefulSet": {
			manager: strings.Replace(informed, "kind: Deployment", "kind: StatefulSet", 1), notes: []string{certificate, monitor, made},
			kinds: []string{"Deployment", "Secret", "ValidatingWebhookConfiguration"},
		},
		"not what a file of CRDs defines": {
			manager: manager, args: []string{"--webhook-cert-path=/certs"}, crds: []string{monitors}, notes: []string{certificate, made, unelected},
			kinds: []string{"CustomResourceDefinition", "Deployment", "ServiceMonitor", "ValidatingWebhookConfiguration"},
		},
		"nor what a directory of CRDs defines": {
			manager: manager, args: []string{"--webhook-cert-path=/certs"}, crds: []string{filepath.Dir(monitors)}, notes: []string{certificate, made, unelected},
			kinds: []string{"CustomResourceDefinition", "Deployment", "ServiceMonitor", "ValidatingWebhookConfiguration"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			prepared, err := conformance.Foreign{
				Operator: executable, Manifests: write(t, "install.yaml", tc.manager+foreign, 0o600), Args: tc.args, CRDs: tc.crds,
			}.Prepare(t.Context(), t.TempDir())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(prepared.Notes).To(Equal(tc.notes))
			manifests, err := manifest.Load(prepared.Manifests)
			g.Expect(err).NotTo(HaveOccurred())
			var kinds []string
			for _, object := range manifests.Objects() {
				kinds = append(kinds, object.GetKind())
			}
			g.Expect(kinds).To(Equal(tc.kinds))
		})
	}
}
