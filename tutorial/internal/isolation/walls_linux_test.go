package isolation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/confinement"
	"github.com/example/operator-testbed/e2e/reaper"
)

// canary compiles the program that tries what a hostile operator would, once.
var canary = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(asNobody); dir != "" {
		return filepath.Join(dir, "canary"), nil
	}
	path := filepath.Join(temporary, "canary")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./testdata/canary")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func canaryOf(t *testing.T) string {
	t.Helper()
	path, err := canary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// kinds are the outer walls that this machine can build, as the system's own programs show. Containers are for TestContainer.
func kinds(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, command := range [][]string{
		{namespaces, "unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "mount", "-t", "tmpfs", "none", "/tmp"},
		{bubblewrap, "bwrap", "--unshare-user", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"},
	} {
		kind := command[0]
		if out, err := exec.CommandContext(t.Context(), command[1], command[2:]...).CombinedOutput(); err != nil {
			t.Logf("there is no %s here: %v: %s", kind, err, out)
			continue
		}
		if err := probeOuter(t.Context(), kind); err != nil {
			t.Fatal(err)
		}
		all = append(all, kind)
	}
	if len(all) == 0 {
		t.Skip("this machine can build no cell: allow user namespaces, or install bubblewrap")
	}
	return all
}

// patience is how long a command may take that is not about a limit of time, also on a machine that is busy.
const patience = 10 * time.Minute

// in runs a command within walls, and fails the test if there is no cell.
func in(t *testing.T, w Walls, c Command) (Usage, string) {
	t.Helper()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if c.Limits.Time == 0 {
		c.Limits.Time = patience
	}
	usage, err := w.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return usage, out.String()
}

// tried returns what the canary says of each thing that it tried: whether it went well.
func tried(t *testing.T, output string, things []string) []bool {
	t.Helper()
	var went []bool
	for _, thing := range things {
		_, after, found := strings.Cut("\n"+output, "\n"+thing+": ")
		if !found {
			t.Fatalf("the canary says nothing of %q:\n%s", thing, output)
		}
		went = append(went, strings.HasPrefix(after, "yes"))
	}
	return went
}

// outside is what a hostile program would reach on this machine.
type outside struct {
	secret, token, dir string
	process            int
	tcp, tcp6, udp     string
	unix, abstract     string
	contacts           atomic.Int32
}

// listens counts the calls of listen: an abstract address is the whole machine's.
var listens atomic.Int32

// listen makes files, a process and listeners.
func listen(t *testing.T) *outside {
	t.Helper()
	// Below the test's directory, which is below /tmp as a rule: the cell has one of its own.
	o := &outside{dir: t.TempDir(), abstract: fmt.Sprintf("isolation-%d-%d", os.Getpid(), listens.Add(1))}
	o.secret, o.token, o.unix = filepath.Join(o.dir, "secret"), filepath.Join(o.dir, "token"), filepath.Join(o.dir, "s")
	for _, path := range []string{o.secret, o.token} {
		if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sleeper := exec.Command(canaryOf(t), "sleep")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	})
	o.process = sleeper.Process.Pid
	accept := func(network, address string) string {
		listener, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				connection, err := listener.Accept()
				if err != nil {
					return
				}
				o.contacts.Add(1)
				connection.Close()
			}
		}()
		return listener.Addr().String()
	}
	o.tcp = accept("tcp4", "127.0.0.1:0")
	if available, err := net.Listen("tcp6", "[::1]:0"); err == nil { // containers often have no IPv6
		available.Close()
		o.tcp6 = accept("tcp6", "[::1]:0")
	}
	accept("unix", o.unix)
	accept("unix", "@"+o.abstract)
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { packets.Close() })
	o.udp = packets.LocalAddr().String()
	go func() {
		buffer := make([]byte, 64)
		for {
			if _, _, err := packets.ReadFrom(buffer); err != nil {
				return
			}
			o.contacts.Add(1)
		}
	}()
	return o
}

// things are what the canary tries, each of which works without walls.
func (o *outside) things() []string {
	things := []string{
		"read " + o.secret, "read " + o.dir, "append " + o.secret, "write " + filepath.Join(o.dir, "new"), "chmod " + o.secret,
		"touch " + o.secret, "remove " + o.token,
		fmt.Sprintf("kill %d", o.process), fmt.Sprintf("own %d", o.process), fmt.Sprintf("ptrace %d", o.process), fmt.Sprintf("limit %d", o.process),
		fmt.Sprintf("read /proc/%d/environ", o.process), fmt.Sprintf("read /proc/%d/root", o.process),
	}
	for _, way := range o.ways() {
		things = append(things, "dial "+way)
	}
	return things
}

// ways are ways to the listeners.
func (o *outside) ways() []string {
	ways := []string{"tcp " + o.tcp, "udp " + o.udp, "mptcp " + o.tcp, "fastopen " + o.tcp, "unix " + o.unix, "abstract " + o.abstract}
	if o.tcp6 != "" {
		ways = append(ways, "tcp6 "+o.tcp6)
	}
	return ways
}

// check compares what a canary could do with what it should, and counts the contacts.
func (o *outside) check(t *testing.T, output string, things []string, want bool) {
	t.Helper()
	for i, went := range tried(t, output, things) {
		// Whoever sends a packet does not learn whether it arrives.
		if went != want && (!went || !strings.HasPrefix(things[i], "dial udp")) {
			t.Errorf("%s: got %v, expected %v", things[i], went, want)
		}
	}
	if t.Failed() {
		t.Log(output)
	}
	if !want {
		if got := o.contacts.Load(); got != 0 {
			t.Errorf("the listeners outside count %d contacts, expected none", got)
		}
		return
	}
	deadline := time.After(10 * time.Minute)
	for int(o.contacts.Load()) < len(o.ways()) {
		select {
		case <-deadline:
			t.Fatalf("the listeners count %d contacts, expected one for each of %q", o.contacts.Load(), o.ways())
		case <-time.After(time.Millisecond):
		}
	}
}

// TestOuter runs the canary as the command of a cell, with all that a suite may do: it reaches nothing outside.
func TestOuter(t *testing.T) {
	for _, kind := range append(kinds(t), none) {
		t.Run(kind, func(t *testing.T) {
			o := listen(t)
			things := o.things()
			_, out := in(t, Walls{outer: kind, inner: none}, Command{Args: append([]string{canaryOf(t)}, things...), Readable: []string{canaryOf(t)}})
			// Without walls, all of it must work, or this test could not see them.
			o.check(t, out, things, kind == none)
		})
	}
}

// confined returns the command line that runs a program under the rules.
func confined(t *testing.T, rules confinement.Rules, program ...string) []string {
	t.Helper()
	args, err := rules.CommandLine(program[0], program[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// TestInner confines the canary as an operator is, with no cell around it.
func TestInner(t *testing.T) {
	inner, err := probeInner(t.Context(), true)
	if err != nil {
		t.Skipf("no operator can be confined here: %v", err)
	}
	for _, wall := range []string{inner, none} {
		t.Run(wall, func(t *testing.T) {
			o := listen(t)
			private := t.TempDir()
			things := append(o.things(), "truncate "+o.secret, "execute /bin/true", "become /bin/true", "daemon")
			args := append([]string{canaryOf(t)}, things[:len(things)-2]...)
			if wall == none {
				_, out := in(t, Walls{outer: none}, Command{Args: append(args, "daemon"), Dir: private})
				o.check(t, out, slices.Concat(things[:len(things)-2], []string{"daemon"}), true)
				return
			}
			rules := confinement.Rules{Write: []string{private}}
			args = confined(t, rules, append(args, things[len(things)-2:]...)...)
			_, out := in(t, Walls{outer: none}, Command{Args: args, Env: []string{"SECRET=of-the-suite"}})
			o.check(t, out, things, false)
		})
	}
}

// TestInnerLeaves has a confined program do all that an operator does.
func TestInnerLeaves(t *testing.T) {
	if _, err := probeInner(t.Context(), true); err != nil {
		t.Skipf("no operator can be confined here: %v", err)
	}
	o, another := listen(t), listen(t)
	private, free := t.TempDir(), freePort(t)
	_, api, _ := net.SplitHostPort(o.tcp)
	port, err := strconv.ParseUint(api, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	rules := confinement.Rules{
		Read: []string{o.secret}, Write: []string{private}, Connect: []uint16{uint16(port)}, Bind: []uint16{free},
		Env: []string{"ONLY=this", "LD_PRELOAD=/tmp/evil.so"},
	}
	things := []string{
		"read " + o.secret, "dial tcp " + o.tcp, "dial tcp localhost:" + api, fmt.Sprintf("listen 127.0.0.1:%d", free), "threads 50", "kill-self",
		"write " + filepath.Join(private, "a"), "read " + filepath.Join(private, "a"), "remove " + filepath.Join(private, "a"), "read /etc/hosts",
	}
	refused := []string{"append " + o.secret, "read " + o.token, fmt.Sprintf("listen 127.0.0.1:%d", free+1), "dial tcp " + another.tcp, "environment"}
	args := confined(t, rules, slices.Concat([]string{canaryOf(t)}, things, refused)...)
	_, out := in(t, Walls{outer: none}, Command{Args: args, Env: []string{"OF_THE_SUITE=1"}})
	for i, went := range tried(t, out, slices.Concat(things, refused)) {
		if went != (i < len(things)) {
			t.Errorf("%s: got %v", slices.Concat(things, refused)[i], went)
		}
	}
	if !strings.Contains(out, `environment: no, it is ["ONLY=this" "LD_PRELOAD=/tmp/evil.so"]`) {
		t.Error("the program has another environment than the rules say")
	}
	if t.Failed() {
		t.Log(out)
	}
}

// TestUncounted has a confined program take memory in ways that the kernel does not count as its data. Each works without the inner wall.
func TestUncounted(t *testing.T) {
	if _, err := probeInner(t.Context(), true); err != nil {
		t.Skipf("no operator can be confined here: %v", err)
	}
	things := []string{"shared 256", "stack 256", "grown 256", "zero 256"}
	_, out := in(t, Walls{outer: none}, Command{Args: append([]string{canaryOf(t)}, things...)})
	for i, went := range tried(t, out, things) {
		if !went {
			t.Errorf("%s, not confined: got %v\n%s", things[i], went, out)
		}
	}
	rules := confinement.Rules{Write: []string{t.TempDir()}, Memory: 128 << 20}
	_, out = in(t, Walls{outer: none}, Command{Args: append(confined(t, rules, canaryOf(t)), things...)})
	for i, went := range tried(t, out, things) {
		if went {
			t.Errorf("%s, confined to 128 MiB: got %v\n%s", things[i], went, out)
		}
	}
}

// freePort returns a port that is free and stays so: whoever asks a system for any gets one of those above, and clusters, which choose
// theirs, have those below.
func freePort(t *testing.T) uint16 {
	t.Helper()
	for range 100 {
		port := 30_000 + rand.N[uint16](2_700)
		if listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// TestChoose chooses walls where they can be built, and in a process that can't build any: there, nothing but one sentence comes of it.
func TestChoose(t *testing.T) {
	first := kinds(t)[0]
	walls, err := Choose(t.Context(), WantBoth)
	if err != nil {
		t.Fatal(err)
	}
	outer, inner := walls.Isolation()
	if outer != first || !regexp.MustCompile(`^landlock\d+\+seccomp$`).MatchString(inner) {
		t.Errorf("the walls are %q and %q, expected %q and Landlock", outer, inner, first)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rules := confinement.Rules{Write: []string{t.TempDir()}, Read: []string{"/proc"}}
	for want, sentence := range map[string]string{
		WantBoth:  "no operator can be confined on this machine: ",
		WantInner: "no operator can be confined on this machine: ",
		WantOuter: `no cell can be built on this machine \(namespaces: .*operation not permitted; bubblewrap: .*; container: .*\): install bubblewrap `,
		WantNone:  "<nil>",
	} {
		args := confined(t, rules, self, chooseCommand, want)
		_, out := in(t, Walls{outer: none}, Command{Args: args})
		if out = strings.TrimSpace(out); !regexp.MustCompile("^"+sentence).MatchString(out) || strings.Contains(out, "\n") {
			t.Errorf("--isolation=%s: got %q, expected %q", want, out, sentence)
		}
	}
}

// TestFiles: a cell has what is listed, at its own path, and may write to what it may write to.
func TestFiles(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			path := func(name string) string { return filepath.Join(dir, name) }
			for _, name := range []string{"readable", "readable/writable", "writable", "hidden"} {
				if err := os.Mkdir(path(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path(name)+"/file", nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			can := []string{
				"read " + path("readable/file"), "write " + path("readable/writable/new"), "write " + path("writable/new"),
				"write /tmp/new", "append /dev/null", "read /dev/urandom", "read /etc/hosts", "execute /bin/sh -c true", "read /proc/self/status",
				"dial tcp 127.0.0.1:0", // replaced below
			}
			can = can[:len(can)-1]
			cannot := []string{
				"write " + path("readable/new"), "append " + path("readable/file"), "read " + path("hidden/file"), "read " + path("hidden"),
				"write /new", "read /etc/shadow", "read /home", "read /root", "write /proc/sys/kernel/hostname", "append /usr/bin/env",
				"execute /bin/mount -t tmpfs none /mnt", "execute /bin/mount -o remount,rw,bind /usr",
				"append /proc/sys/kernel/core_pattern", "append /proc/sysrq-trigger",
			}
			_, out := in(t, Walls{outer: kind}, Command{
				Args:     slices.Concat([]string{canaryOf(t)}, can, cannot),
				Readable: []string{canaryOf(t), path("readable")}, Writable: []string{path("readable/writable"), path("writable")},
			})
			for i, went := range tried(t, out, slices.Concat(can, cannot)) {
				if went != (i < len(can)) {
					t.Errorf("%s: got %v", slices.Concat(can, cannot)[i], went)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
			for _, name := range []string{"readable/writable/new", "writable/new"} {
				if _, err := os.Stat(path(name)); err != nil {
					t.Error(err)
				}
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
				t.Errorf("after the cell, there are %v, %v: expected three directories", entries, err)
			}
		})
	}
}

// hoard takes more memory than the limits here, and stays until it is ended, however late that is.
const hoard = "memory 256, sleep"

// TestLimits has a canary exceed each limit. It ends, and so does all that it has started.
func TestLimits(t *testing.T) {
	for _, kind := range append(kinds(t), none) {
		for _, tc := range []struct {
			name, try string
			limits    Limits
			exceeded  string
		}{
			{"an endless loop", "loop", Limits{Time: time.Second}, ExceededTime},
			{"processor time", "loop", Limits{CPU: 300 * time.Millisecond}, ExceededCPU},
			{"memory", hoard, Limits{Memory: 128 << 20}, ExceededMemory},
			{"processes", "forks 300", Limits{Processes: 100}, ExceededProcesses},
			{"a daemon", "daemon outlives", Limits{}, ""},
			{"within limits", "memory 10", Limits{Time: patience, CPU: time.Minute, Memory: 1 << 30, Processes: 1000}, ""},
		} {
			t.Run(kind+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				marker := fmt.Sprintf("marker-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
				usage, out := in(t, Walls{outer: kind}, Command{
					Args: append([]string{canaryOf(t)}, strings.Split(tc.try, ", ")...), Readable: []string{canaryOf(t)}, Env: []string{"MARKER=" + marker}, Limits: tc.limits,
				})
				if usage.Exceeded != tc.exceeded {
					t.Errorf("got %+v, expected the limit %q to be exceeded\n%s", usage, tc.exceeded, out)
				}
				if tc.exceeded == "" && usage.Exit != 0 || tc.exceeded != "" && usage.Exit == 0 {
					t.Errorf("got exit code %d\n%s", usage.Exit, out)
				}
				if left := processesWith(marker); len(left) > 0 {
					t.Errorf("the processes %v are left", left)
				}
				if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(mounts, []byte(" /old")) {
					t.Errorf("mounts of the cell are left: %v\n%s", err, mounts)
				}
			})
		}
	}
}

// TestChain ends a command behind which processes go on that each start another one and exit, so that none is there for long.
func TestChain(t *testing.T) {
	const chain = `next() { [ "$1" -gt 0 ] || exec sleep 1000; (next $(($1 - 1))) & }; next 300`
	for _, kind := range append(kinds(t), none) {
		for range 5 {
			marker := fmt.Sprintf("MARKER=%s-%d-chain", kind, os.Getpid())
			in(t, Walls{outer: kind}, Command{Args: []string{"/bin/sh", "-c", chain}, Env: []string{marker, "PATH=/usr/bin:/bin"}})
			if left := processesWith(marker); len(left) > 0 {
				t.Fatalf("%s: the processes %v are left", kind, left)
			}
		}
	}
}

// processesWith returns the processes on this machine that have a word in their environment.
func processesWith(word string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && bytes.Contains(content, []byte(word)) {
			found = append(found, file)
		}
	}
	return found
}

// TestFileSize: a file that would get larger is cut off.
func TestFileSize(t *testing.T) {
	for _, kind := range kinds(t) {
		dir := t.TempDir()
		for limit, want := range map[int64]int64{0: 3000000, 1000000: 1000000} {
			in(t, Walls{outer: kind}, Command{
				Args: []string{"/bin/sh", "-c", "head -c 3000000 /dev/zero > " + dir + "/file"}, Writable: []string{dir}, Limits: Limits{FileSize: limit},
			})
			if info, err := os.Stat(filepath.Join(dir, "file")); err != nil || info.Size() != want {
				t.Errorf("%s: with a limit of %d, the file has %v, %v, expected %d", kind, limit, info.Size(), err, want)
			}
		}
	}
}

// TestScratch: what a program makes in a directory that nobody reads has a limit, and goes with the cell, also what its owner can't
// remove. In a directory that is only writable, all of it works, and stays.
func TestScratch(t *testing.T) {
	for _, kind := range kinds(t) {
		dir := t.TempDir()
		things := []string{"files " + dir + " 5 1024", "lock " + dir, "nest " + dir + " 5000"}
		command := Command{Args: append([]string{canaryOf(t)}, things...), Readable: []string{canaryOf(t)}, Limits: Limits{Scratch: 20 << 20}}
		command.Scratch = []string{dir}
		_, out := in(t, Walls{outer: kind}, command)
		if slices.Contains(tried(t, out, things), false) {
			t.Errorf("%s: within the limit:\n%s", kind, out)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: the cell has left %v, %v", kind, left, err)
		}
		things = []string{"files " + dir + " 25 1024"}
		command.Args = append([]string{canaryOf(t)}, things...)
		if _, out := in(t, Walls{outer: kind}, command); tried(t, out, things)[0] {
			t.Errorf("%s: 25 MiB are in a directory of 20", kind)
		}
		if kind != bubblewrap { // which has no limit of their number
			things = []string{"files " + dir + " 60000 0"}
			command.Args = append([]string{canaryOf(t)}, things...)
			if _, out := in(t, Walls{outer: kind}, command); tried(t, out, things)[0] {
				t.Errorf("%s: 60000 files are in a directory for %d", kind, mostScratchFiles)
			}
		}
		// The twin.
		things = []string{"files " + dir + " 25 1024", "lock " + dir}
		command.Args, command.Scratch, command.Writable = append([]string{canaryOf(t)}, things...), nil, []string{dir}
		_, out = in(t, Walls{outer: kind}, command)
		if left, err := os.ReadDir(dir); err != nil || len(left) != 26 || slices.Contains(tried(t, out, things), false) {
			t.Errorf("%s: in a writable directory there are %d files, %v:\n%s", kind, len(left), err, out)
		}
		if err := os.Chmod(filepath.Join(dir, "locked"), 0o700); err != nil {
			t.Error(err)
		}
	}
}

// TestOutput: endless output is cut off in the middle, and its end is kept.
func TestOutput(t *testing.T) {
	for _, kind := range append(kinds(t), none) {
		_, out := in(t, Walls{outer: kind}, Command{
			Args:   []string{"/bin/sh", "-c", "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo last"},
			Limits: Limits{Output: 1000},
		})
		if !strings.HasPrefix(out, "first\nxxx") || !strings.HasSuffix(out, "xxx\n"+"last\n") && !strings.HasSuffix(out, "xlast\n") || len(out) > 1100 {
			t.Errorf("%s: of endless output there are %d bytes: %.40q…%q", kind, len(out), out, out[max(0, len(out)-40):])
		}
		if !strings.Contains(out, "[2999011 bytes are left out]") {
			t.Errorf("%s: the output does not say how much is left out: %q", kind, out)
		}
	}
}

// TestExitCode: the code of the command is that of the cell.
func TestExitCode(t *testing.T) {
	for _, kind := range append(kinds(t), none) {
		for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "exit 125": 125, "kill -9 $$": 137} {
			if usage, out := in(t, Walls{outer: kind}, Command{Args: []string{"/bin/sh", "-c", script}}); usage.Exit != want || usage.Exceeded != "" {
				t.Errorf("%s: %s: got %+v, expected exit code %d\n%s", kind, script, usage, want, out)
			}
		}
		var said bytes.Buffer
		_, err := Walls{outer: kind}.Run(t.Context(), Command{Args: []string{"/no/such/program"}, Stderr: &said})
		if err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("%s: a command that does not exist: %v", kind, err)
		}
	}
}

// TestEnvironment: the command has the environment that it is given, and no other.
func TestEnvironment(t *testing.T) {
	t.Setenv("OF_THE_GRADER", "secret")
	for _, kind := range append(kinds(t), none) {
		for _, env := range [][]string{nil, {"ONLY=this"}} {
			_, out := in(t, Walls{outer: kind}, Command{Args: []string{canaryOf(t), "environment"}, Env: env, Readable: []string{canaryOf(t)}})
			if want := fmt.Sprintf("it is %q", slices.Concat([]string{}, env)); !strings.Contains(out, want) {
				t.Errorf("%s: got %s, expected %s", kind, out, want)
			}
		}
	}
}

// TestCanceled: a cell ends with the context.
func TestCanceled(t *testing.T) {
	for _, kind := range append(kinds(t), none) {
		ctx, cancel := context.WithCancel(t.Context())
		out, in := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			_, err := Walls{outer: kind}.Run(ctx, Command{Args: []string{"/bin/sh", "-c", "echo started; exec sleep 1000"}, Stdout: in})
			ended <- err
		}()
		if _, err := out.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}

// TestKilled kills the grader: nothing of its cell is left.
func TestKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range append(kinds(t), none) {
		marker := fmt.Sprintf("MARKER=%s-%d-killed", kind, os.Getpid())
		grader := exec.Command(self, holdCommand, kind, marker, canaryOf(t))
		if err := grader.Start(); err != nil {
			t.Fatal(err)
		}
		until := func(what string, n int) {
			t.Helper()
			for deadline := time.Now().Add(10 * time.Minute); len(processesWith(marker)) != n; <-time.After(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%s: %s: %v", kind, what, processesWith(marker))
				}
			}
		}
		until("waiting for the canary and its daemon", 2)
		if err := grader.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = grader.Wait()
		until("the grader was killed, and these processes are left", 0)
	}
}

// TestAsNobody runs these tests as a user with no permissions.
func TestAsNobody(t *testing.T) {
	if os.Getenv(asNobody) != "" {
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can become another user; the other tests have run as one who is not root")
	}
	dir := forEverybody(t)
	run := exec.CommandContext(t.Context(), filepath.Join(dir, "isolation.test"), "-test.v", "-test.run=^("+strings.Join([]string{
		"TestOuter", "TestInner", "TestInnerLeaves", "TestFiles", "TestLimits", "TestExitCode",
	}, "|")+")$", "-test.skip=TestLimits/("+none+"|"+bubblewrap+")") // nobody's limits are those of root, except for what the kernel counts
	run.Dir = dir
	run.Env = []string{asNobody + "=" + dir, reaper.Variable + "=" + reaper.Value(), "TMPDIR=" + filepath.Join(dir, "tmp"), "PATH=" + os.Getenv("PATH")}
	run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := run.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestOuter/")) {
		t.Errorf("as uid 65534: %v\n%s", err, out)
	}
}

// forEverybody makes a directory where everybody may go, with these tests, the canary, and a directory tmp for nobody.
func forEverybody(t *testing.T) string {
	t.Helper()
	umask := syscall.Umask(0o022) // this user's own may keep out everybody else
	defer syscall.Umask(umask)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"canary": canaryOf(t), "isolation.test": self} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o700), os.Chown(filepath.Join(dir, "tmp"), 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	return dir
}
