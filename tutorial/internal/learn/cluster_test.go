package learn

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/exercises"
	"github.com/example/operator-testbed/tutorial/internal/learn/panel"
)

func TestMain(m *testing.M) {
	supervisor.Main()
	os.Exit(reaper.Run(m))
}

// page is a browser's view of a server.
type page struct {
	t      *testing.T
	base   string
	client *http.Client
	states chan State // the newest that was not looked at
	last   State
}

// open serves the page of a learner, lets a browser in, and follows its stream.
func open(t *testing.T, o Options) (p *page, stop func() error) {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	served, invited := make(chan error, 1), make(chan string, 1)
	o.Site, o.Panel, o.Open = "testdata/site", panel.Files, func(invitation string) { invited <- invitation }
	begun := time.Now()
	go func() { served <- Serve(ctx, o) }()
	var invitation string
	select {
	case invitation = <-invited:
	case err := <-served:
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	g.Expect(err).NotTo(HaveOccurred())
	address, err := url.Parse(invitation)
	g.Expect(err).NotTo(HaveOccurred())
	p = &page{t: t, base: "http://" + address.Host, client: &http.Client{Jar: jar}, states: make(chan State, 1)}
	g.Expect(p.get(address.Path)).To(ContainSubstring("/tutorial/03-controller/"))
	g.Expect(p.get("/tutorial/03-controller/")).To(ContainSubstring("/-/panel.js"))
	// The aim is a second. It is printed, not required, because a busy machine is not the page's fault.
	t.Logf("the first page is there after %s", time.Since(begun).Round(time.Millisecond))

	response, err := p.client.Get(p.base + "/-/stream") //nolint:bodyclose // it is closed where the stream is followed
	g.Expect(err).NotTo(HaveOccurred())
	streamed := make(chan struct{})
	go func() {
		defer close(streamed)
		defer response.Body.Close()
		p.follow(response.Body)
	}()
	return p, func() error {
		cancel()
		err := <-served
		<-streamed
		return err
	}
}

func (p *page) get(path string) string {
	p.t.Helper()
	response, err := p.client.Get(p.base + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		p.t.Fatalf("GET %s: %s %s %v", path, response.Status, text, err)
	}
	return string(text)
}

// follow reads events until the stream ends.
func (p *page) follow(body io.Reader) {
	for lines := bufio.NewReader(body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		text, isData := strings.CutPrefix(line, "data: ")
		var s State
		if !isData || json.Unmarshal([]byte(text), &s) != nil {
			continue
		}
		select {
		case <-p.states: // nobody has looked at it
		default:
		}
		p.states <- s
	}
}

// press presses a button.
func (p *page) press(action string, fields ...string) {
	p.t.Helper()
	form := url.Values{"chapter": {"03-controller"}}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		form.Set(name, value)
	}
	response, err := p.client.PostForm(p.base+"/-/do/"+action, form)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusNoContent {
		p.t.Fatalf("%s: %s %s", action, response.Status, text)
	}
}

// sees waits until the page shows something.
func (p *page) sees(what string, is func(State) bool) State {
	p.t.Helper()
	limit := time.After(patience)
	for !is(p.last) {
		select {
		case p.last = <-p.states:
		case <-limit:
			text, _ := json.MarshalIndent(p.last, "", "  ")
			p.t.Fatalf("the page does not show %s: %s", what, text)
		}
	}
	return p.last
}

// shown returns the objects of a state as text.
func shown(s State) string { return drawn(s.Objects, s.More) }

// TestPageWithACluster does on a real cluster what a learner does.
func TestPageWithACluster(t *testing.T) {
	tier.All(t)
	tier.NeedsEmbedded(t)
	g := NewWithT(t)
	state, err := shortDirectory()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { os.RemoveAll(state) })
	t.Setenv("TESTBED_STATE", state)
	root, err := filepath.Abs(repository)
	g.Expect(err).NotTo(HaveOccurred())
	testbed := filepath.Join(t.TempDir(), "testbed")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", testbed, "./e2e/cmd/testbed")
	build.Dir = root
	output, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", output)

	f := newFake(t)
	f.Root, f.ClusterName = root, "page"
	f.withSolution(t)
	f.Testbed = func(ctx context.Context, out, messages io.Writer, args ...string) error {
		command := exec.CommandContext(ctx, testbed, args...)
		command.Dir, command.Stdout, command.Stderr = root, out, messages
		command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
		return command.Run()
	}
	f.Check = func(ctx context.Context, in exercises.CheckInput) ([]framework.Result, error) {
		in.Root = root
		return exercises.Check(ctx, in)
	}
	p, stop := open(t, Options{Learner: f.Learner})
	t.Cleanup(func() {
		down := exec.Command(testbed, "--name=page", "down")
		if output, err := down.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, output)
		}
	})
	p.sees("that there is no cluster", func(s State) bool {
		return s.Cluster.State == Absent && len(s.Actions) > 0 && !action(s, ActionRun).Enabled
	})

	p.press(ActionStart)
	p.sees("the cluster", func(s State) bool { return s.Cluster.State == Running && done(s) })
	p.press(ActionRun)
	s := p.sees("the operator", func(s State) bool { return s.Operator.State == Running })
	g.Expect(s.Operator.Source).To(Equal(FromCopy))

	cluster, err := embedded.Attach("page")
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(cluster.KubernetesRestConfig(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	sample := &unstructured.Unstructured{}
	text, err := os.ReadFile(filepath.Join(root, "tutorial", "03-controller", "config", "samples", "cache_v1alpha1_memcached.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.Unmarshal(text, &sample.Object)).To(Succeed())
	sample.SetNamespace("default")
	g.Expect(c.Create(t.Context(), sample)).To(Succeed())
	s = p.sees("three pods", func(s State) bool {
		return strings.Contains(shown(s), "Deployment memcached-sample: 3/3 ready (good)") && strings.Count(shown(s), ": Ready on node-") == 3
	})
	g.Expect(shown(s)).To(HavePrefix("Memcached memcached-sample: size 3 (none)\n  Deployment "))
	s = p.sees("its writes", func(s State) bool { return len(s.Writes) > 0 })
	g.Expect(s.Writes[len(s.Writes)-1]).To(And(HaveField("Object", "deployments/memcached-sample"), HaveField("Code", 201)))
	// A controller does not wait until its events are written.
	p.sees("an event", func(s State) bool {
		return slices.ContainsFunc(s.Events, func(e Event) bool {
			return e.Object == "Deployment/memcached-sample" && e.Reason == "ScalingReplicaSet"
		})
	})

	showsSoon(t, p, c, sample)

	p.press(ActionBreak, "lab="+CrashingPods, "confirm=yes")
	p.sees("crashes", func(s State) bool { return strings.Contains(shown(s), "CrashLoopBackOff") && done(s) })
	p.press(ActionHeal)
	p.sees("health", func(s State) bool {
		return !strings.Contains(shown(s), "CrashLoopBackOff") && s.Task.Action == ActionHeal && done(s)
	})

	p.press(ActionCheck)
	s = p.sees("the features", func(s State) bool { return s.Task.Action == ActionCheck && done(s) })
	g.Expect(s.Task.Error).To(BeEmpty())
	g.Expect(s.Task.Passed).To(Equal(s.Task.Of))
	for _, feature := range s.Task.Features {
		g.Expect(feature.Outcome).To(Equal(Passed), feature.Name)
	}

	// The operator is killed, and the page shows that.
	g.Expect(killOperator(t)).To(Succeed())
	s = p.sees("the end of the operator", func(s State) bool { return s.Operator.State == Exited })
	g.Expect(s.Operator.Message).To(ContainSubstring("killed"))
	p.press(ActionRun)
	p.sees("the operator", func(s State) bool { return s.Operator.State == Running })

	p.press(ActionHalt)
	p.sees("that the operator has stopped", func(s State) bool { return s.Operator.State == Stopped })
	p.press(ActionStop)
	p.sees("that the cluster is gone", func(s State) bool { return s.Cluster.State == Absent && len(s.Objects) == 0 && done(s) })
	g.Expect(stop()).To(Succeed())
}

// killOperator kills the operator in the way that nothing can be done about.
func killOperator(t *testing.T) error {
	running, err := supervisor.Attach(filepath.Join(os.Getenv("TESTBED_STATE"), "run", "page"))
	if err != nil {
		return err
	}
	processes, err := running.Status(t.Context())
	for _, process := range processes {
		err = errors.Join(err, syscall.Kill(process.PID, syscall.SIGKILL))
	}
	return err
}

// showsSoon measures how long it takes until a change is shown.
func showsSoon(t *testing.T, p *page, c client.Client, sample *unstructured.Unstructured) {
	t.Helper()
	var took []time.Duration
	for i := range 11 {
		size := 4 - i%2
		patch := fmt.Sprintf(`{"spec":{"size":%d}}`, size)
		begun := time.Now()
		if err := c.Patch(t.Context(), sample.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
		p.sees(patch, func(s State) bool { return strings.Contains(shown(s), fmt.Sprintf(": size %d ", size)) })
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	t.Logf("a change is shown after %s (p50), %s at most", took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
}

// shortDirectory returns a new directory with a name that is short enough for the path of a socket.
func shortDirectory() (string, error) { return os.MkdirTemp("", "page-") }
