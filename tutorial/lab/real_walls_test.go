package lab

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
)

// TestOffline takes a class from its hand-out to the exported grades where there is no network but the loopback interface.
func TestOffline(t *testing.T) {
	tier.Nightly(t)
	p := newProgram(t)
	p.before = offline(t)
	const stage = "03-controller"
	dir, handedIn := p.newClass(stage, 2), t.TempDir()
	right := filepath.Join(handedIn, "s01")
	p.does("solution", "--stage="+stage, "--dir="+right)
	p.begin(filepath.Join(dir, "release", stage, "s02"), filepath.Join(handedIn, "s02"))
	p.Expect(p.does("check", "--dir="+right)).To(ContainSubstring("5 of 5 features hold"))
	p.does("submit", "--dir="+right)
	p.Expect(p.does("class", "collect", "--dir="+dir, "--from="+handedIn)).To(ContainSubstring(" 2 collected, "))
	p.does("grade", "--dir="+dir)
	grades := filepath.Join(t.TempDir(), "grades.csv")
	p.does("class", "export", "--dir="+dir, "--format=nbgrader", "--out="+grades)
	p.Expect(os.ReadFile(grades)).To(And(MatchRegexp(`(?m)^03-controller,.*,s01,.*,5,5$`), MatchRegexp(`(?m)^03-controller,.*,s02,.*,0,5$`)))
}

// offline returns what runs a command without a network, and proves that it does.
func offline(t *testing.T) []string {
	t.Helper()
	needNamespaces(t)
	if _, err := exec.LookPath("ip"); err != nil {
		t.Fatalf("%v: install iproute2", err)
	}
	before := []string{"unshare", "--map-root-user", "--net", "bash", "-c", `ip link set lo up && exec "$@"`, "offline"}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	contact := []string{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + port}
	if out, err := exec.CommandContext(t.Context(), contact[0], contact[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("the listener can't be reached at all: %v\n%s", err, out)
	}
	without := append(append([]string{}, before...), contact...)
	if out, err := exec.CommandContext(t.Context(), without[0], without[1:]...).CombinedOutput(); err == nil || !bytes.Contains(out, []byte("refused")) {
		t.Fatalf("there is a network: %v\n%s", err, out)
	}
	return before
}

// needNamespaces skips a test that makes its own namespaces where this user may not: Ubuntu allows that to bubblewrap, and not to others.
func needNamespaces(t *testing.T) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "unshare", "--map-root-user", "--net", "true").CombinedOutput(); err != nil {
		t.Skipf("this user may not make namespaces (%v: %s): run it as root", err, bytes.TrimSpace(out))
	}
}

// TestWithoutWalls grades where no cell can be built: with exit code 2, and before anything of a student's has run. Whoever trusts the
// students gets a grade, and then it runs.
func TestWithoutWalls(t *testing.T) {
	tier.Nightly(t)
	p := newProgram(t)
	needNamespaces(t)
	const stage = "03-controller"
	marker := filepath.Join(t.TempDir(), "ran")
	dir, handedIn := p.newClass(stage, 1), t.TempDir()
	submission := filepath.Join(handedIn, "s01")
	p.does("solution", "--stage="+stage, "--dir="+submission)
	p.Expect(os.WriteFile(filepath.Join(submission, "cmd", "ran.go"),
		[]byte("package main\n\nimport \"os\"\n\nfunc init() { _ = os.WriteFile(\""+marker+"\", nil, 0o600) }\n"), 0o600)).To(Succeed())
	p.does("class", "collect", "--dir="+dir, "--from="+handedIn)
	t.Setenv("DOCKER_HOST", "unix:///dev/null")
	p.before = []string{
		"unshare", "--map-root-user", "bash", "-c",
		`for kind in user mnt pid; do echo 0 >/proc/sys/user/max_${kind}_namespaces || exit 1; done; exec "$@"`, "without namespaces",
	}
	result := filepath.Join(t.TempDir(), "result.json")
	for _, arguments := range [][]string{
		{"grade", "--dir=" + dir}, {"grade-one", "--stage=" + stage, "--submission=" + submission, "--out=" + result},
	} {
		exit, out := p.run(arguments...)
		p.Expect(exit).To(Equal(2), "%s", out)
		p.Expect(out).To(MatchRegexp(`^testbed: no cell can be built on this machine \([^\n]*\): install bubblewrap [^\n]*\n$`))
		p.Expect(marker).NotTo(BeAnExistingFile())
	}
	p.Expect(p.does("grade", "--dir="+dir, "--trust")).To(MatchRegexp(`(?m)^s01: 5 of 5 `))
	p.Expect(marker).To(BeAnExistingFile())
	recorded, err := os.ReadFile(filepath.Join(dir, "graded", "s01", stage+".json"))
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(string(recorded)).To(MatchRegexp(`"outer": "none",\s+"inner": "none"`))
}
