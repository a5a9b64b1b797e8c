package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/kind/build/internal/recipe"
)

// pinned are the programs of the module that pins Kubernetes.
func pinned(t *testing.T) []recipe.Program {
	t.Helper()
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = "../../../kubernetes"
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var m recipe.GoMod
	if err := json.Unmarshal(output, &m); err != nil {
		t.Fatal(err)
	}
	programs, err := m.Programs(nil, recipe.Extra{})
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

// version is the one that a program is pinned at.
func version(t *testing.T, programs []recipe.Program, name string) string {
	t.Helper()
	i := slices.IndexFunc(programs, func(p recipe.Program) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s among %v", name, programs)
	}
	return programs[i].Version
}

func TestFilesHaveThePinnedVersions(t *testing.T) {
	programs := pinned(t)
	kubernetes, etcd := version(t, programs, "kube-apiserver"), version(t, programs, "etcd")
	got := map[string]File{}
	for _, f := range Files(programs, "linux", "arm64") {
		got[f.Program] = f
	}
	for _, want := range []File{
		{
			Site: "dl.k8s.io", Program: "kube-scheduler",
			Address: "https://dl.k8s.io/release/" + kubernetes + "/bin/linux/arm64/kube-scheduler",
			Sums:    "https://dl.k8s.io/release/" + kubernetes + "/bin/linux/arm64/kube-scheduler.sha256",
		},
		{
			Site: "github.com/etcd-io/etcd", Program: "etcd",
			Address: "https://github.com/etcd-io/etcd/releases/download/" + etcd + "/etcd-" + etcd + "-linux-arm64.tar.gz",
			Sums:    "https://github.com/etcd-io/etcd/releases/download/" + etcd + "/SHA256SUMS",
			Member:  "etcd-" + etcd + "-linux-arm64/etcd",
		},
	} {
		if got[want.Program] != want {
			t.Errorf("got\n%+v\nexpected\n%+v", got[want.Program], want)
		}
	}
	for _, program := range []string{"kube-apiserver", "kube-controller-manager", "kubectl"} {
		if got[program].Site != "dl.k8s.io" {
			t.Errorf("%s is not offered: %+v", program, got[program])
		}
	}
	if f, offered := got["kwok"]; offered {
		t.Errorf("kwok is offered, though it has no sums: %+v", f)
	}
}

// Nothing but a node runs these, and node images are compiled; Kubernetes has no servers
// for macOS.
func TestWhatSitesDoNotOffer(t *testing.T) {
	programs := pinned(t)
	if files := Files(programs, "darwin", "arm64"); len(files) > 0 {
		t.Errorf("there are servers for macOS: %+v", files)
	}
	other := []recipe.Program{{Name: "etcd", Package: "example.com/own/etcd", Version: "v1.0.0"}}
	if files := Files(other, "linux", "amd64"); len(files) > 0 {
		t.Errorf("another project's etcd is offered: %+v", files)
	}
}

// The one project among our modules that downloads the same files knows the same
// addresses.
func TestAddressesAreThoseOfKwok(t *testing.T) {
	cmd := exec.Command("go", "list", "-m", "-f={{.Dir}}", "sigs.k8s.io/kwok")
	cmd.Dir = "../../../kubernetes"
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, name := range []string{"pkg/consts/consts.go", "pkg/config/vars.go"} {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(output)), name))
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(data)
	}
	for _, part := range []string{
		`"https://dl.k8s.io/release"`, `conf.KubeVersion + "/bin/" + GOOS + "/" + GOARCH`, `"/kube-apiserver"`,
		`"https://github.com/etcd-io/etcd/releases/download"`, `"/etcd-v"`, `"-" + GOOS + "-" + GOARCH + "."`,
	} {
		if !strings.Contains(sources.String(), part) {
			t.Errorf("kwok's packages no longer contain %s: compare the addresses here with theirs", part)
		}
	}
}

func TestMirror(t *testing.T) {
	const address = "https://dl.k8s.io/release/v1.37.0/bin/linux/amd64/kubectl"
	for mirror, want := range map[string]string{
		"":                                   address,
		"http://mirror.example.com":          "http://mirror.example.com/dl.k8s.io/release/v1.37.0/bin/linux/amd64/kubectl",
		"https://mirror.example.com/a/path/": "https://mirror.example.com/a/path/dl.k8s.io/release/v1.37.0/bin/linux/amd64/kubectl",
	} {
		if got := On(mirror, address); got != want {
			t.Errorf("on %q it is %s, expected %s", mirror, got, want)
		}
	}
	for mirror, good := range map[string]bool{
		"https://mirror.example.com/a": true, "http://user:word@10.0.0.1:8080": true,
		"mirror.example.com": false, "ftp://mirror.example.com": false, "https://": false, "https://m/?a=b": false, "no": false,
	} {
		if err := CheckMirror(mirror); (err == nil) != good {
			t.Errorf("for %q the error is %v", mirror, err)
		}
	}
}

func TestSum(t *testing.T) {
	const address = "https://example.com/v1/etcd-v1-linux-amd64.tar.gz"
	sum, other := strings.Repeat("0aF9", 16), strings.Repeat("1", 64)
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"one sum":                  {sum, true},
		"one sum and a line break": {sum + "\n", true},
		"a list":                   {other + "  etcd-v1-linux-arm64.tar.gz\n" + sum + "  etcd-v1-linux-amd64.tar.gz\n", true},
		"of a binary file":         {sum + " *etcd-v1-linux-amd64.tar.gz", true},
		"of another file":          {other + "  etcd-v1-linux-arm64.tar.gz\n", false},
		"several sums without names": {
			other + "\n" + sum, false,
		},
		"a page of a proxy": {"<html>Please log in</html>", false},
		"nothing":           {"", false},
		"another algorithm": {sum + sum, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Sum(c.text, address)
			if (err == nil) != c.ok || c.ok && got != strings.ToLower(sum) {
				t.Errorf("got %q and %v", got, err)
			}
		})
	}
}
