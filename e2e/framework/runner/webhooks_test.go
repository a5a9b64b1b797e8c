package runner_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	os.Exit(reaper.Run(m))
}

// gatehouse is a cluster and the gatekeeper that runs on it. See internal/gatekeeper and testdata/webhooks.
type gatehouse struct {
	client   client.Client
	options  runner.Options
	ca       []byte
	operator *runner.Operator
}

// TestWebhooks runs an operator with webhooks and breaks its replicas one after the other. Each part begins with what the one
// before has left.
func TestWebhooks(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	h := newGatehouse(t)
	for _, part := range []struct {
		name string
		run  func(*gatehouse, *testing.T)
	}{
		{"without webhooks", (*gatehouse).withoutWebhooks},
		{"the certificate is verified", (*gatehouse).certificate},
		{"allowed and denied", (*gatehouse).verdicts},
		{"metrics", (*gatehouse).metrics},
		{"a port that somebody takes", (*gatehouse).portTaken},
		{"replicas killed and paused", (*gatehouse).replicas},
		{"a replica held behind the supervisor's back", (*gatehouse).held},
		{"all killed", (*gatehouse).allKilled},
		{"started again", (*gatehouse).startedAgain},
		{"a certificate that somebody else makes", (*gatehouse).issued},
		{"removed", (*gatehouse).removed},
		{"a kind defined in place", (*gatehouse).definedInPlace},
		{"a kind without a version that it had", (*gatehouse).versionRemoved},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(h, t) }) {
			return
		}
	}
}

func newGatehouse(t *testing.T) *gatehouse {
	t.Helper()
	work := t.TempDir()
	t.Setenv("TESTBED_STATE", filepath.Join(work, "state"))
	cluster := embedded.NewProvider()
	if _, err := cluster.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	binary := filepath.Join(work, "gatekeeper")
	if err := runner.Build(t.Context(), ".", "./internal/gatekeeper", binary); err != nil {
		t.Fatal(err)
	}
	manifests, err := manifest.Render("../manifest/testdata/webhooks")
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cluster.KubernetesRestConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	// Only the name by which the API server asks for the Service, and not localhost.
	certificate, key, err := certutil.GenerateSelfSignedCertKey("gatekeeper-webhook.gatekeeper-system.svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(work, "tls.crt"), filepath.Join(work, "tls.key")
	if err := errors.Join(os.WriteFile(certFile, certificate, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	return &gatehouse{client: c, ca: certificate, options: runner.Options{
		Name: "gatekeeper", Config: cluster.KubernetesRestConfig(), Supervisor: cluster.Supervisor(), Manifests: manifests, Binary: binary, Own: true,
		Env: []string{"TLS_CERT_FILE=" + certFile, "TLS_KEY_FILE=" + keyFile},
	}}
}

func (h *gatehouse) start(t *testing.T) {
	t.Helper()
	operator, err := runner.Start(t.Context(), h.options)
	if err != nil {
		t.Fatal(err)
	}
	h.operator = operator
}

// admit asks whether a ConfigMap would be created, and returns the process that has signed it. The policy is that of the
// webhook it meets.
func (h *gatehouse) admit(ctx context.Context, policy string, data map[string]string) (signedBy int, err error) {
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "guest-", Labels: map[string]string{"gatekeeper": policy}},
		Data:       data,
	}
	if err := h.client.Create(ctx, object, client.DryRunAll); err != nil {
		return 0, err
	}
	if signature, ok := object.Annotations["signed-by"]; ok {
		return strconv.Atoi(signature)
	}
	return 0, nil
}

// admitMany admits several at once, so that the API server uses, and keeps, several connections. It returns who has signed.
func (h *gatehouse) admitMany(ctx context.Context) (signedBy map[int]bool, err error) {
	return h.admitAtOnce(ctx, 8)
}

// admitAtOnce asks for as many admissions at the same time.
func (h *gatehouse) admitAtOnce(ctx context.Context, many int) (signedBy map[int]bool, err error) {
	pids, errs := make([]int, many), make([]error, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { pids[i], errs[i] = h.admit(ctx, "fail", nil) })
	}
	all.Wait()
	signedBy = map[int]bool{}
	for _, pid := range pids {
		signedBy[pid] = true
	}
	return signedBy, errors.Join(errs...)
}

// until asks for admission until the answer is as wanted. The API server learns of a configuration by a watch of its own, and
// nothing but its answers tells when it has.
func (h *gatehouse) until(t *testing.T, what string, done func(signedBy int, err error) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for {
		pid, err := h.admit(ctx, "fail", nil)
		if done(pid, err) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: last seen: signed by %d, %v", what, pid, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func signed(pid int, err error) bool { return pid != 0 && err == nil }

// pid returns the process id of a replica.
func (h *gatehouse) pid(t *testing.T, name string) int {
	t.Helper()
	list, err := h.options.Supervisor.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Name == name {
			return p.PID
		}
	}
	t.Fatalf("there is no process %s", name)
	return 0
}

// trust puts the CA into the configurations, as an operator does that makes its own certificates.
func (h *gatehouse) trust(t *testing.T) {
	t.Helper()
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	key := client.ObjectKey{Name: "gatekeeper"}
	if err := errors.Join(h.client.Get(t.Context(), key, &mutating), h.client.Get(t.Context(), key, &validating)); err != nil {
		t.Fatal(err)
	}
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ClientConfig.CABundle = h.ca
	}
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig.CABundle = h.ca
	}
	if err := errors.Join(h.client.Update(t.Context(), &mutating), h.client.Update(t.Context(), &validating)); err != nil {
		t.Fatal(err)
	}
}

func (h *gatehouse) configurations(t *testing.T) int {
	t.Helper()
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := errors.Join(h.client.List(t.Context(), &mutating), h.client.List(t.Context(), &validating)); err != nil {
		t.Fatal(err)
	}
	return len(mutating.Items) + len(validating.Items)
}

func scrape(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func (h *gatehouse) withoutWebhooks(t *testing.T) {
	g := NewWithT(t)
	h.start(t)
	g.Expect(h.configurations(t)).To(BeZero())
	g.Expect(scrape(t, h.operator.MetricsAddress())).To(ContainSubstring("gatekeeper_webhook_served 0"), "it runs with ENABLE_WEBHOOKS=false")

	var definition apiextensionsv1.CustomResourceDefinition
	g.Expect(h.client.Get(t.Context(), client.ObjectKey{Name: "gadgets.test.example.com"}, &definition)).To(Succeed())
	g.Expect(definition.Status.Conditions).To(ContainElement(And(
		HaveField("Type", apiextensionsv1.Established), HaveField("Status", apiextensionsv1.ConditionTrue))), "Start has waited for it")
	g.Expect(h.operator.Stop(t.Context())).To(Succeed())
}

func (h *gatehouse) certificate(t *testing.T) {
	g := NewWithT(t)
	h.options.Webhooks = true
	if goruntime.GOOS == "linux" { // where all of 127.0.0.0/8 is this machine
		h.options.Address = "127.0.0.2"
	}
	h.start(t)
	var service corev1.Service
	g.Expect(h.client.Get(t.Context(), client.ObjectKey{Namespace: "gatekeeper-system", Name: "gatekeeper-webhook"}, &service)).To(Succeed())
	g.Expect(service.Spec.Type).To(Equal(corev1.ServiceTypeExternalName))
	g.Expect(service.Spec.ExternalName).To(Equal(cmp.Or(h.options.Address, "127.0.0.1")))
	g.Expect(h.configurations(t)).To(Equal(2))
	h.until(t, "refused while nobody vouches for the certificate", func(_ int, err error) bool {
		return err != nil && strings.Contains(err.Error(), "x509: certificate signed by unknown authority")
	})
	h.trust(t)
	h.until(t, "admitted once the CA is known", signed)
}

func (h *gatehouse) verdicts(t *testing.T) {
	g := NewWithT(t)
	pid, err := h.admit(t.Context(), "fail", map[string]string{"color": "red"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pid).To(Equal(h.pid(t, "gatekeeper")))
	for _, policy := range []string{"fail", "ignore"} {
		_, err := h.admit(t.Context(), policy, map[string]string{"forbidden": "fruit"})
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		g.Expect(err).To(MatchError(ContainSubstring("data.forbidden: the gatekeeper does not like it: fruit")), policy)
	}
}

func (h *gatehouse) metrics(t *testing.T) {
	g := NewWithT(t)
	g.Expect(scrape(t, h.operator.MetricsAddress())).To(ContainSubstring("gatekeeper_webhook_served 1"))
}

func (h *gatehouse) replicas(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	second, err := h.operator.AddReplica(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	first := h.operator.Replicas()[0]
	g.Expect([]string{first.Name(), second.Name()}).To(Equal([]string{"gatekeeper", "gatekeeper-2"}))
	g.Expect(second.LogFile()).NotTo(Equal(first.LogFile()))
	g.Expect(second.MetricsAddress()).NotTo(Equal(first.MetricsAddress()))
	g.Expect(h.admitMany(ctx)).NotTo(HaveKey(0))

	only := func(why string, r *runner.Replica) {
		t.Helper()
		g.Expect(h.admitMany(ctx)).To(Equal(map[int]bool{h.pid(t, r.Name()): true}), why)
	}
	g.Expect(first.Kill(ctx)).To(Succeed())
	only("the first is killed", second)
	g.Expect(first.Restart(ctx)).To(Succeed())
	g.Expect(second.Pause(ctx)).To(Succeed())
	only("the first is back, on other ports, and the second is paused", first)
	third, err := h.operator.AddReplica(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.Kill(ctx)).To(Succeed())
	only("the first is killed and the second paused", third)
	g.Expect(second.Resume(ctx)).To(Succeed())
	h.stopped(t, third)
	only("the second goes on, and the third is stopped", second)

	g.Expect(first.Remove(ctx)).To(MatchError(ContainSubstring("first one: stop it instead")))
	g.Expect(third.Remove(ctx)).To(Succeed())
	g.Expect(h.operator.Replicas()).To(HaveLen(2))
	g.Expect(h.operator.Restart(ctx)).To(Succeed())
	g.Expect(h.admitMany(ctx)).NotTo(HaveKey(0), "all are back")
}

// stopped stops a replica, which exits at once: until its endpoint is withdrawn, the API server goes on to connect to it.
func (h *gatehouse) stopped(t *testing.T, replica *runner.Replica) {
	t.Helper()
	g := NewWithT(t)
	refused := make(chan struct{})
	runner.WithdrawAfter(t, refused)
	done := make(chan error, 1)
	go func() { done <- replica.Stop(t.Context()) }()
	// The API server may have as many connections to other replicas as it has needed so far, so it needs more each time.
	for many := 16; ; many = min(2*many, 512) {
		if _, err := h.admitAtOnce(t.Context(), many); err != nil {
			break
		}
		select {
		case err := <-done:
			t.Fatalf("the replica is stopped (error: %v), and no request was refused before its endpoint was withdrawn", err)
		default:
		}
	}
	close(refused)
	g.Expect(<-done).To(Succeed())
}

func (h *gatehouse) held(t *testing.T) {
	g := NewWithT(t)
	g.Expect(h.admitMany(t.Context())).NotTo(HaveKey(0))
	pid := h.pid(t, "gatekeeper")
	g.Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(Succeed())
	defer func() { g.Expect(syscall.Kill(pid, syscall.SIGCONT)).To(Succeed()) }()
	other := map[int]bool{h.pid(t, "gatekeeper-2"): true}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	// Who has a connection to it is refused when that is cut. Nobody is for long.
	for {
		signedBy, err := h.admitMany(ctx)
		if err == nil && maps.Equal(signedBy, other) {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the other one does not take over: last seen: signed by %v, %v", signedBy, err)
		}
	}
}

func (h *gatehouse) allKilled(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.Expect(h.operator.Kill(ctx)).To(Succeed())
	_, err := h.admit(ctx, "fail", nil)
	g.Expect(err).To(MatchError(ContainSubstring(`failed calling webhook "fail.gatekeeper.example.com"`)))
	pid, err := h.admit(ctx, "ignore", map[string]string{"forbidden": "fruit"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pid).To(BeZero(), "nobody was there to sign it")
	g.Expect(h.operator.Replicas()[1].Restart(ctx)).To(Succeed())
	g.Expect(h.admitMany(ctx)).To(HaveKey(h.pid(t, "gatekeeper-2")))
}

func (h *gatehouse) startedAgain(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.Expect(h.operator.Stop(ctx)).To(Succeed())
	h.options.Replicas = 2
	h.start(t)
	g.Expect(h.operator.Replicas()).To(HaveLen(2))
	h.until(t, "the webhooks lead to the new ones, and the CA that somebody put there is kept", signed)
	g.Expect(h.operator.RemoveWebhooks(ctx)).To(Succeed())
	g.Expect(h.configurations(t)).To(BeZero())
}

// portTaken runs a gatekeeper that finds its port taken: once, and then always.
func (h *gatehouse) portTaken(t *testing.T) {
	g := NewWithT(t)
	unlucky := func(until string) string {
		script := filepath.Join(t.TempDir(), "unlucky")
		said := "listen tcp 127.0.0.1:1: bind: address already in use"
		g.Expect(os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nif [ %s ]; then exec '%s' \"$@\"; fi\ntouch '%s.ran'\necho '%s'\nexit 1\n",
			strings.ReplaceAll(until, "RAN", "'"+script+".ran'"), h.options.Binary, script, said), 0o700)).To(Succeed())
		return script
	}
	g.Expect(h.operator.Restart(t.Context(), runner.WithBinary(unlucky("-e RAN")))).To(Succeed())
	h.until(t, "the webhooks lead to where it listens then", signed)
	g.Expect(h.operator.Restart(t.Context(), runner.WithBinary(unlucky("")))).To(MatchError(ContainSubstring("address already in use")))
	g.Expect(h.operator.Restart(t.Context())).To(Succeed())
}

// freePort returns a port that no other process of the testbed takes before its user does: it is below those of package loopback, and above
// those of the operator's own tests.
func freePort() int {
	for port := 15000 + rand.IntN(4000); ; port++ {
		if listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			listener.Close()
			return port
		}
	}
}

// issued runs a gatekeeper that expects a certificate of cert-manager's, and has no flag for its webhooks.
func (h *gatehouse) issued(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	g.Expect(h.operator.Stop(ctx)).To(Succeed())
	manifests, err := manifest.Render("../manifest/testdata/issued")
	g.Expect(err).NotTo(HaveOccurred())
	content, err := manifest.New(manifests.Without("Issuer", "Certificate")...).YAML()
	g.Expect(err).NotTo(HaveOccurred())
	options := h.options
	options.Env, options.Replicas = nil, 1
	options.Own, options.Confinement = false, runner.Confinement{Optional: true} // as it would be in somebody else's image
	options.Manifests, err = manifest.Parse(bytes.ReplaceAll(content, []byte("9443"), []byte(strconv.Itoa(freePort()))))
	g.Expect(err).NotTo(HaveOccurred())
	h.operator, err = runner.Start(ctx, options)
	g.Expect(err).NotTo(HaveOccurred())
	h.until(t, "the configurations trust the certificate that the operator has found", signed)
	g.Expect(h.operator.Restart(ctx)).To(Succeed())
	h.until(t, "and that of a restart", signed)
	h.converted(t)
	g.Expect(h.operator.RemoveWebhooks(ctx)).To(Succeed())
}

// converted has the gatekeeper convert an object.
func (h *gatehouse) converted(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "test.example.com/v1", "kind": "Gizmo"}}
	object.SetNamespace(metav1.NamespaceDefault)
	object.SetName("gizmo")
	g.Expect(h.client.Create(ctx, object)).To(Succeed())
	g.Expect(object.GetAnnotations()).NotTo(HaveKey("signed-by"), "it is stored in this version")
	object.SetAPIVersion("test.example.com/v2")
	g.Expect(h.client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	g.Expect(object.GetAnnotations()).To(HaveKeyWithValue("signed-by", strconv.Itoa(h.pid(t, "gatekeeper"))))
	g.Expect(h.client.Delete(ctx, object)).To(Succeed())
}

// removed takes away what the installation has brought, and nothing else.
func (h *gatehouse) removed(t *testing.T) {
	g := NewWithT(t)
	g.Expect(h.operator.Stop(t.Context())).To(Succeed())
	absent := func() int {
		objects, err := install.Absent(t.Context(), h.options.Config, h.options.Manifests)
		g.Expect(err).NotTo(HaveOccurred())
		return len(objects)
	}
	all := h.options.Manifests.Without("Deployment")
	g.Expect(install.Apply(t.Context(), h.client, all)).To(Succeed())
	g.Expect(absent()).To(BeZero())
	last := all[len(all)-1:]
	g.Expect(install.Remove(t.Context(), h.options.Config, last)).To(Succeed())
	g.Expect(absent()).To(Equal(1))
	g.Expect(install.Remove(t.Context(), h.options.Config, all)).To(Succeed(), "what is gone already is fine")
	g.Expect(absent()).To(Equal(len(all)))
}
