package smalldisk

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// variable is set where a test is executed again. It names the directory for a disk.
const variable = "TEST_SMALL_DISK"

// Namespace executes the test again in a mount namespace of its own, where it may mount disks that go with it. There, it returns an empty
// directory for one. In the first execution it returns "" when the second has passed; the test has then nothing left to do. It is skipped
// where this user may not have namespaces.
func Namespace(t *testing.T) (dir string) {
	t.Helper()
	if dir := os.Getenv(variable); dir != "" {
		return dir
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), variable+"="+t.TempDir())
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := again.CombinedOutput()
	if len(out) == 0 || strings.Contains(string(out), "--- SKIP: ") {
		t.Skipf("no disk can be mounted here, because this user may not have namespaces: %v %s", err, out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	return ""
}
