package runner

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/confinement"
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// confinedReplica returns a replica of an operator that has a kubeconfig, and its options.
func confinedReplica(t *testing.T) (*Replica, Options) {
	t.Helper()
	group, err := supervisor.Start(t.Context(), supervisor.Options{Dir: filepath.Join(t.TempDir(), "group")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = group.Shutdown(context.WithoutCancel(t.Context())) })
	options := Options{Name: "operator", Binary: "/path/operator", Supervisor: group}
	o := &Operator{options: options, manager: manifest.Manager{
		Args: []string{"--leader-elect", "--webhook-cert-path=/etc"}, Ports: []string{"9443"}, Env: []string{"LD_PRELOAD=/tmp/evil.so", "KUBECONFIG=/tokens", "URL=http://127.0.0.1:22"},
	}}
	config, err := kubeconfig(&rest.Config{Host: "https://127.0.0.1:6443"}, client.ObjectKey{Namespace: "n", Name: "a"}, "token")
	if err != nil {
		t.Fatal(err)
	}
	if err := clientcmd.WriteToFile(*config, o.kubeconfig()); err != nil {
		t.Fatal(err)
	}
	r := o.newReplica()
	r.at = addresses{health: "127.0.0.1:1", metrics: "127.0.0.1:2"}
	return r, options
}

// TestConfined: what confines an operator lists what the runner itself has chosen. What the manifests say is only behind -env and --,
// and nothing of the suite's environment is left.
func TestConfined(t *testing.T) {
	g := NewWithT(t)
	r, options := confinedReplica(t)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	t.Setenv("OF_THE_SUITE", "secret")
	options.Env = []string{"AIRLINE=http://127.0.0.1:8088", "OTHER=http://example.com:80"}
	options.traceable = true
	options.Confinement = Confinement{FileSize: 3, Memory: 4}
	p, err := r.process(options)
	g.Expect(err).NotTo(HaveOccurred())
	private, kubeconfig := r.privateDir(), r.operator.kubeconfig()
	g.Expect(p.Path).To(Equal(self))
	g.Expect(p.Env).To(Equal([]string{"PATH=/usr/bin:/bin"}))
	g.Expect(p.Traceable).To(BeFalse())
	g.Expect(p.Args).To(Equal([]string{
		"confine-program", "-read=" + kubeconfig, "-write=" + private,
		"-connect=1", "-connect=2", "-connect=6443", "-connect=8088", "-bind=1", "-bind=2",
		"-env=PATH=/usr/bin:/bin", "-env=HOME=" + private, "-env=TMPDIR=" + private,
		"-env=LD_PRELOAD=/tmp/evil.so", "-env=KUBECONFIG=/tokens", "-env=URL=http://127.0.0.1:22",
		"-env=KUBECONFIG=" + kubeconfig, "-env=ENABLE_WEBHOOKS=false", "-env=AIRLINE=http://127.0.0.1:8088", "-env=OTHER=http://example.com:80",
		"-file-size=3", "-memory=4",
		"--", "/path/operator", "--leader-elect", "--webhook-cert-path=/etc",
		"--health-probe-bind-address=127.0.0.1:1", "--metrics-bind-address=127.0.0.1:2",
	}))
	g.Expect(private).To(BeADirectory())

	g.Expect(os.MkdirAll(r.operator.certificates(), 0o700)).To(Succeed())
	options.Confinement = Confinement{Optional: true, DeclaredPorts: true}
	p, err = r.process(options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Args).To(ContainElements("-read="+r.operator.certificates(), "-bind=8080", "-bind=9443", "-optional=true"))

	options.Confinement = Confinement{Directory: "/project"}
	p, err = r.process(options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Args).To(ContainElements("-read=/project", "-directory=/project", "-write="+private))
}

// TestOwn: the caller's own operator has the caller's environment.
func TestOwn(t *testing.T) {
	g := NewWithT(t)
	r, options := confinedReplica(t)
	t.Setenv("OF_THE_SUITE", "yes")
	options.Own, options.traceable = true, true
	p, err := r.process(options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.Path).To(Equal("/path/operator"))
	g.Expect(p.Env).To(ContainElement("OF_THE_SUITE=yes"))
	g.Expect(p.Traceable).To(BeTrue())
}

func TestAddressOf(t *testing.T) {
	for text, want := range map[string][2]string{
		"http://127.0.0.1:8088": {"127.0.0.1", "8088"},
		"https://[::1]:1/path":  {"::1", "1"},
		"https://example.com":   {"example.com", "443"},
		"http://localhost":      {"localhost", "80"},
		"memcached:1.6":         {},
		"true":                  {},
		"%":                     {},
	} {
		host, port := addressOf(text)
		NewWithT(t).Expect([2]string{host, port}).To(Equal(want), text)
	}
}

// TestConfinedProcess starts an operator that is confined: it is the process that the supervisor knows, and has nothing of the suite's
// environment.
func TestConfinedProcess(t *testing.T) {
	if _, err := confinement.Supported(); err != nil {
		t.Skip(err)
	}
	g := NewWithT(t)
	r, options := confinedReplica(t)
	t.Setenv("OF_THE_SUITE", "secret")
	sh, err := exec.LookPath("sh")
	g.Expect(err).NotTo(HaveOccurred())
	sh, err = filepath.EvalSymlinks(sh)
	g.Expect(err).NotTo(HaveOccurred())
	options.Binary, r.operator.manager, r.at = sh, manifest.Manager{Env: []string{"COLOR=red"}}, addresses{}
	options.Confinement.Directory = t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(options.Confinement.Directory, "color"), []byte("green"), 0o600)).To(Succeed())
	p, err := r.process(options)
	g.Expect(err).NotTo(HaveOccurred())
	p.Args = append(p.Args, "-c", "read color <color; set; echo >other || echo printed; while :; do :; done")
	p.Grace = time.Minute // a busy machine may take long to end even this
	g.Expect(r.supervisor().Run(t.Context(), p)).To(Succeed())
	printed := func() string {
		log, err := os.ReadFile(r.LogFile())
		g.Expect(err).NotTo(HaveOccurred())
		return string(log)
	}
	for deadline := time.Now().Add(10 * time.Minute); !strings.HasSuffix(printed(), "\nprinted\n"); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(printed())
		}
	}
	g.Expect(printed()).To(And(ContainSubstring("COLOR='red'"), ContainSubstring("color='green'"), ContainSubstring("HOME='"+r.privateDir()), Not(ContainSubstring("OF_THE_SUITE"))))
	g.Expect(r.supervisor().Stop(t.Context(), r.Name())).To(Succeed())
	exit, err := r.supervisor().Wait(t.Context(), r.Name())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.TrimSpace(exit.Signal)).To(Equal("terminated"))
}
