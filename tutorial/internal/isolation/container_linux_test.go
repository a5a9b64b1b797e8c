package isolation

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/tier"
)

// TestContainer builds a cell as a container, where there is an engine: make docker-up starts one.
func TestContainer(t *testing.T) {
	tier.Nightly(t)
	if err := exec.CommandContext(t.Context(), "docker", "version").Run(); err != nil {
		t.Skip("there is no container engine: make docker-up starts one")
	}
	if err := probeOuter(t.Context(), container); err != nil {
		t.Fatal(err)
	}
	o := listen(t)
	things := o.things()
	w := Walls{outer: container, inner: none}
	_, said := in(t, w, Command{Args: append([]string{canaryOf(t)}, things...), Readable: []string{canaryOf(t)}})
	o.check(t, said, things, false)
	testReport(t, w)

	for _, tc := range []struct {
		try      string
		limits   Limits
		exceeded string
	}{
		{"loop", Limits{Time: 3 * time.Second}, ExceededTime},
		{"loop", Limits{CPU: 300 * time.Millisecond}, ExceededCPU},
		{hoard, Limits{Memory: 128 << 20}, ExceededMemory},
		{"forks 300", Limits{Processes: 100}, ExceededProcesses},
		{"daemon outlives", Limits{}, ""},
		{"exit 3", Limits{}, ""},
	} {
		usage, out := in(t, w, Command{Args: append([]string{canaryOf(t)}, strings.Split(tc.try, ", ")...), Readable: []string{canaryOf(t)}, Env: []string{"MARKER=container-" + t.Name()}, Limits: tc.limits})
		if usage.Exceeded != tc.exceeded || tc.try == "exit 3" && usage.Exit != 3 {
			t.Errorf("%s: got %+v, expected the limit %q to be exceeded\n%s", tc.try, usage, tc.exceeded, out)
		}
		if left := processesWith("MARKER=container-" + t.Name()); len(left) > 0 {
			t.Errorf("%s: the processes %v are left", tc.try, left)
		}
	}
	// Files in memory are not of a process, so only the kernel counts them.
	usage, out := in(t, w, Command{
		Args:     []string{"/bin/sh", "-c", "head -c 100M /dev/zero >/tmp/file && head -c 100M /dev/zero >/run/file && exec " + canaryOf(t) + " 'memory 100'"},
		Readable: []string{canaryOf(t)}, Limits: Limits{Memory: 128 << 20},
	})
	if usage.Exceeded != ExceededMemory || usage.Exit == 0 || usage.Memory > 128<<20 {
		t.Errorf("two files and a process that are together above what the container has: got %+v\n%s", usage, out)
	}
	// In somebody else's container, the inner wall is the one that is left to build.
	dir := forEverybody(t)
	usage, out = in(t, w, Command{
		Args: []string{filepath.Join(dir, "isolation.test"), "-test.v", "-test.run=^(TestInner|TestInnerLeaves)$"}, Readable: []string{dir}, Dir: dir,
		Env: []string{asNobody + "=" + dir, "PATH=/usr/bin:/bin"},
	})
	if usage.Exit != 0 || !strings.Contains(out, "--- PASS: TestInner/landlock") {
		t.Errorf("within a container: %+v\n%s", usage, out)
	}

	left, err := exec.CommandContext(t.Context(), "docker", "ps", "--all", "--quiet", "--filter", "name=isolation-").Output()
	if err != nil || slices.ContainsFunc(left, func(b byte) bool { return b != '\n' }) {
		t.Errorf("the containers %s are left, %v", left, err)
	}
}
