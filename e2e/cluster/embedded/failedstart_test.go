package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/executable"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestBrokenExecutable replaces the executable of one component.
func TestBrokenExecutable(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	truncated := func(executable []byte) []byte { return executable[:64<<10] }
	script := func(text string) func([]byte) []byte {
		return func([]byte) []byte { return []byte("#!/bin/sh\n" + text + "\n") }
	}
	for _, test := range []struct {
		name, component string
		by              func([]byte) []byte // nil: it is missing
		want            string
	}{
		{"etcd-truncated", embedded.Etcd, truncated, "etcd was ended by the signal segmentation fault and said nothing: see whether "},
		{"apiserver-truncated", embedded.KubeAPIServer, truncated, "kube-apiserver was ended by the signal segmentation fault and said nothing: see whether "},
		{"etcd-no-program", embedded.Etcd, func([]byte) []byte { return []byte("what is this?") }, "start etcd: fork/exec "},
		{"etcd-silent", embedded.Etcd, script("exit 7"), "etcd ended with exit code 7 and said nothing: see whether "},
		{"scheduler-hurt", embedded.KubeScheduler, script("echo it hurts >&2; exit 3"), "kube-scheduler ended with exit code 3; its last message is: it hurts"},
		{"kwok-missing", embedded.Kwok, nil, "there is no kwok that can be run in "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := embedded.NewProvider()
			p.WithPath(assetsBut(t, test.component, test.by))
			expectFailedStart(t, t.Context(), p, test.name, test.want)
		})
	}
}

// assetsBut is a directory with the executables of all components, one of them replaced.
func assetsBut(t *testing.T, component string, by func([]byte) []byte) string {
	t.Helper()
	assets, err := embedded.Assets(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{embedded.Etcd, embedded.KubeAPIServer, embedded.KubeControllerManager, embedded.KubeScheduler, embedded.Kwok} {
		if name != component {
			if err := os.Symlink(filepath.Join(assets, name), filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if by == nil {
		return dir
	}
	content, err := os.ReadFile(filepath.Join(assets, component))
	if err == nil {
		err = executable.Write(filepath.Join(dir, component), by(content), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRefusedCRD starts with CRDs that the API server does not take. What can be seen in the file is found before (see
// TestReadCRDsNamesWhatIsWrong).
func TestRefusedCRD(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	owners, err := os.ReadFile("testdata/crds/owner.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, old, new, want, refused string }{
		{"crd-invalid", "scope: Namespaced", "scope: Everywhere", "install the CRD owners.test.example.com: ", `Unsupported value: "Everywhere"`},
		{"crd-same-kind", "owners", "landlords", "install the CRD ", `"OwnerList" is already in use`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			crds := []string{filepath.Join(t.TempDir(), "crd.yaml")}
			if err := os.WriteFile(crds[0], []byte(strings.ReplaceAll(string(owners), test.old, test.new)), 0o644); err != nil {
				t.Fatal(err)
			}
			if test.name == "crd-same-kind" {
				crds = append(crds, "testdata/crds")
			}
			p := embedded.NewProvider()
			p.WithOpts(embedded.WithCRDs(crds...))
			expectFailedStart(t, t.Context(), p, test.name, test.want, test.refused)
		})
	}
}

func TestTakenPorts(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	port, tries := takenPort(t), 0
	p := embedded.NewProvider()
	p.WithOpts(embedded.WithPort(func() (int, error) {
		tries++
		return port, nil
	}))
	expectFailedStart(t, t.Context(), p, "ports-taken", fmt.Sprintf("each of 5 ports that were tried for kube-apiserver was taken by somebody else, %d the last of them: try again", port))
	if tries != embedded.PortAttempts {
		t.Errorf("expected %d ports to be tried, got %d", embedded.PortAttempts, tries)
	}
}

// takenPort is a port on loopback that is taken until the test's end.
func takenPort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port
}

// TestCanceled gives up at each step of a start.
func TestCanceled(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	gaveUp := errors.New("somebody gave up")
	for step, name := range []string{"canceled-before", "canceled-apiserver", "canceled-ready"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			p := embedded.NewProvider()
			p.WithOpts(embedded.WithProgress(countdown{left: &step, end: func() { cancel(gaveUp) }}))
			if step == 0 {
				cancel(gaveUp)
			}
			// The reason that was given, whatever was waited for.
			expectFailedStart(t, ctx, p, name, "", ": "+gaveUp.Error())
		})
	}
}

// countdown calls end at the write that takes left to zero.
type countdown struct {
	left *int
	end  func()
}

func (c countdown) Write(line []byte) (int, error) {
	if *c.left--; *c.left == 0 {
		c.end()
	}
	return len(line), nil
}

// TestRefused asks for what there is not. None of it takes a component.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		create func(context.Context, *embedded.Provider) (string, error)
		want   string
	}{
		{"refused-version", func(ctx context.Context, p *embedded.Provider) (string, error) {
			return p.WithVersion("v1.30.0").Create(ctx)
		}, "create the embedded cluster refused-version: it runs Kubernetes v1.37.0 or v1.36.5, not v1.30.0"},
		{"Bad_Name", func(ctx context.Context, p *embedded.Provider) (string, error) {
			return p.Create(ctx)
		}, `create the embedded cluster Bad_Name: "Bad_Name" is not a valid cluster name: use lower-case letters, digits and '-'`},
		{"refused-arguments", func(ctx context.Context, p *embedded.Provider) (string, error) {
			return p.Create(ctx, "--fast")
		}, `create the embedded cluster refused-arguments: unknown arguments ["--fast"]: set it up with the options of package embedded`},
		{"refused-file", func(ctx context.Context, p *embedded.Provider) (string, error) {
			return p.CreateWithConfig(ctx, "cluster.yaml")
		}, "create the embedded cluster refused-file: it takes no configuration file (got cluster.yaml): use the options of package embedded"},
		{"refused-path", func(ctx context.Context, p *embedded.Provider) (string, error) {
			return p.WithPath("no/such/directory").Create(ctx)
		}, "create the embedded cluster refused-path: there is no etcd that can be run in no/such/directory"},
		{"refused-crds", func(ctx context.Context, p *embedded.Provider) (string, error) {
			return p.WithOpts(embedded.WithCRDs("no/such/file")).Create(ctx)
		}, "create the embedded cluster refused-crds: read CRDs: stat no/such/file: no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := embedded.NewProvider()
			p.WithName(test.name)
			if _, err := test.create(t.Context(), p); err == nil || err.Error() != test.want {
				t.Errorf("expected\n%s, got\n%v", test.want, err)
			}
			expectNothingLeft(t, test.name)
		})
	}
}

// expectFailedStart creates a cluster and expects an error of one line that begins with want and holds the others.
func expectFailedStart(t *testing.T, ctx context.Context, p *embedded.Provider, name, want string, others ...string) {
	t.Helper()
	_, err := p.WithName(name).Create(ctx)
	if err == nil {
		t.Fatalf("expected no cluster called %s: %v", name, p.Destroy(context.Background()))
	}
	text := err.Error()
	if !strings.HasPrefix(text, "create the embedded cluster "+name+": "+want) || strings.Contains(text, "\n") {
		t.Errorf("expected one line that begins with\n%s, got\n%s", want, text)
	}
	for _, other := range others {
		if !strings.Contains(text, other) {
			t.Errorf("expected a line with\n%s, got\n%s", other, text)
		}
	}
	expectNothingLeft(t, name)
	if _, up := listed(t, name); up {
		t.Errorf("expected %s not to be in the list", name)
	}
}
