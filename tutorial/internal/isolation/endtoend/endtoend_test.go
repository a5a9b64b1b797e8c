// Package endtoend_test runs suites of chapters, with a cluster and their operators, within the walls of isolation.
package endtoend_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/reaper"
	"github.com/example/operator-testbed/e2e/tier"
	"github.com/example/operator-testbed/tutorial/internal/isolation"
)

// commandVariable is set where these tests are executed as another user, to run one command within both walls: it holds the command,
// as JSON.
const commandVariable = "ENDTOEND_COMMAND"

// confineVariable says how a suite confines the operator that it is given.
const confineVariable = "TESTBED_CONFINE"

func TestMain(m *testing.M) {
	isolation.Main()
	if text := os.Getenv(commandVariable); text != "" {
		if err := runCommand(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(reaper.Run(m))
}

// runCommand runs a command within both walls, and writes what it has used after what it prints.
func runCommand(text string) error {
	var command isolation.Command
	if err := json.Unmarshal([]byte(text), &command); err != nil {
		return err
	}
	walls, err := isolation.Choose(context.Background(), isolation.WantBoth)
	if err != nil {
		return err
	}
	command.Env = append(command.Env, confineVariable+"={}")
	command.Stdout, command.Stderr = os.Stdout, os.Stdout
	usage, err := walls.Run(context.Background(), command)
	outer, inner := walls.Isolation()
	fmt.Printf("as uid %d, within %s and %s: %+v\n", os.Getuid(), outer, inner, usage)
	if usage.Exit != 0 {
		err = errors.Join(err, fmt.Errorf("exit code %d", usage.Exit))
	}
	return err
}

// suite runs features of a chapter against an operator within walls, and returns what the suite printed.
func suite(t *testing.T, walls isolation.Walls, stage, features, operator string) (isolation.Usage, string) {
	t.Helper()
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	assets, err := embedded.Assets(t.Context(), os.Stderr)
	fail(err)
	cache, err := home.Cache()
	fail(err)
	root, err := filepath.Abs("../../../..")
	fail(err)
	binary, err := runner.BuildSuite(t.Context(), root, "tutorial/"+stage+"/test/e2e")
	fail(err)
	chapter := filepath.Join(root, "tutorial", stage)
	env := []string{
		"CLUSTER=embedded", "OPERATOR=" + operator, embedded.AssetsVariable + "=" + assets,
		"TESTBED_CACHE=" + cache, "TESTBED_STATE=/tmp/state", "HOME=/tmp", "PATH=/usr/bin:/bin",
	}
	// As the grader has them: see grading.
	confine := []byte("no")
	if walls.Confines() {
		confine, err = json.Marshal(runner.Confinement{FileSize: 64 << 20, Memory: 3 << 27})
		fail(err)
	}
	env = append(env, confineVariable+"="+string(confine))
	var out bytes.Buffer
	usage, err := walls.Run(t.Context(), isolation.Command{
		Args: []string{binary, "-test.v", "-test.run=^(" + features + ")$"},
		Dir:  filepath.Join(chapter, "test", "e2e"), Env: env, Stdout: &out, Stderr: &out,
		Readable: []string{binary, operator, assets, filepath.Join(cache, "stores"), chapter},
		Limits: isolation.Limits{
			Time: 20 * time.Minute, CPU: 5 * time.Minute, Memory: 3 << 30, Processes: 1000, FileSize: 1 << 30, Output: 1 << 20,
		},
	})
	if err != nil || usage.Exceeded != "" {
		t.Fatalf("%+v, %v\n%s", usage, err, &out)
	}
	return usage, out.String()
}

// choose returns walls, and skips the test where there are none or no cluster.
func choose(t *testing.T, want string) isolation.Walls {
	t.Helper()
	tier.NeedsEmbedded(t)
	if runtime.GOOS != "linux" {
		t.Skip("walls are for Linux")
	}
	walls, err := isolation.Choose(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	return walls
}

// TestWithinWalls runs features of several chapters against their own operators, which pass as they do outside. They need all that
// the supervisor and the API server do with an operator: several replicas, SIGTERM, SIGKILL, another server, and webhooks.
func TestWithinWalls(t *testing.T) {
	tier.All(t)
	walls := choose(t, isolation.WantBoth)
	for _, tc := range []struct{ stage, features string }{
		{"09-availability", "TestLeader|TestMetrics|TestProbes"},
		{"10-finalizers", "TestCrash|TestRestart"},
		{"11-admission", "TestDefaulter|TestOff"},
	} {
		t.Run(tc.stage, func(t *testing.T) {
			operator := filepath.Join(t.TempDir(), "operator")
			if err := runner.Build(t.Context(), filepath.Join("..", "..", "..", tc.stage), "./cmd", operator); err != nil {
				t.Fatal(err)
			}
			usage, out := suite(t, walls, tc.stage, tc.features, operator)
			if usage.Exit != 0 {
				t.Fatalf("%+v\n%s", usage, out)
			}
			var passed []string
			for _, match := range regexp.MustCompile(`(?m)^--- PASS: (\w+)`).FindAllStringSubmatch(out, -1) {
				passed = append(passed, match[1])
			}
			slices.Sort(passed)
			if strings.Join(passed, "|") != tc.features {
				t.Errorf("of %s, %q have passed\n%s", tc.features, passed, out)
			}
			t.Logf("%.1f s of processor time, %d MiB", usage.CPU.Seconds(), usage.Memory>>20)
		})
	}
}

// TestHostileWithinWalls runs an operator in a cell that goes for the cluster's secrets, and for the grader. Without the inner wall, it gets
// all of them.
func TestHostileWithinWalls(t *testing.T) {
	tier.All(t)
	operator := filepath.Join(t.TempDir(), "hostile")
	for want, pattern := range map[string]string{
		isolation.WantBoth: `GOT \(log: `,
		isolation.WantOuter: `GOT the root directory, tokens.csv, kubeconfig, pki/service-accounts.key, audit.log, etcd/client.sock:0, control.sock, ` +
			`the supervisor's environment, a signal to the supervisor, the working directory \(log: `,
	} {
		walls := choose(t, want)
		if err := runner.Build(t.Context(), "testdata/hostile", ".", operator); err != nil {
			t.Fatal(err)
		}
		usage, out := suite(t, walls, "03-controller", "TestSize", operator)
		if usage.Exit == 0 || !regexp.MustCompile(pattern).MatchString(out) {
			t.Errorf("with --isolation=%q, expected %s:\n%s", want, pattern, out)
		}
	}
}

// TestWithinWallsAsNobody runs one feature as a user with no permissions. What it needs is copied to where everybody may go.
func TestWithinWallsAsNobody(t *testing.T) {
	tier.All(t)
	if os.Getuid() != 0 {
		t.Skip("only root can become another user; TestWithinWalls has run as one who is not root")
	}
	umask := syscall.Umask(0o022) // this user's own may keep out everybody else
	defer syscall.Umask(umask)
	choose(t, isolation.WantBoth)
	assets, err := embedded.Assets(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const stage = "03-controller"
	binary, err := runner.BuildSuite(t.Context(), root, "tutorial/"+stage+"/test/e2e")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := runner.Build(t.Context(), filepath.Join(root, "tutorial", stage), "./cmd", in("operator")); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"suite": binary, "self": self} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range map[string]string{"assets": assets, "chapter": filepath.Join(root, "tutorial", stage)} {
		if err := os.CopyFS(in(name), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	command, err := json.Marshal(isolation.Command{
		Args: []string{in("suite"), "-test.v", "-test.run=^TestSize$"}, Dir: in("chapter/test/e2e"),
		Env: []string{
			"CLUSTER=embedded", "OPERATOR=" + in("operator"), embedded.AssetsVariable + "=" + in("assets"),
			"TESTBED_CACHE=/tmp/cache", "TESTBED_STATE=/tmp/state", "HOME=/tmp", "PATH=/usr/bin:/bin",
		},
		Readable: []string{dir}, Limits: isolation.Limits{Time: 20 * time.Minute, Memory: 3 << 30, Processes: 1000},
	})
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), in("self"))
	run.Dir, run.Env = dir, []string{commandVariable + "=" + string(command), "PATH=" + os.Getenv("PATH")}
	run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := run.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestSize ")) {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(string(out[bytes.LastIndex(bytes.TrimSpace(out), []byte("\n"))+1:]))
}
