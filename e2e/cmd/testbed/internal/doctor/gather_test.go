package doctor_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/doctor"
	"github.com/example/operator-testbed/e2e/host/gocommand"
)

func TestGatherThisMachine(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "not", "made", "yet")
	t.Setenv("TESTBED_CACHE", cache)
	facts, err := doctor.Gather(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if facts.Go.Path == "" || facts.Go.Version == "" {
		t.Errorf("the go that runs this test was not found: %+v", facts.Go)
	}
	if !facts.Cache.Missing || facts.Temp.Missing {
		t.Errorf("missing are the cache %v, which is not made yet, and TMPDIR %v, which is there", facts.Cache.Missing, facts.Temp.Missing)
	}
	if facts.Cache.Path != cache || facts.Cache.Free == 0 || !facts.Cache.Writable || facts.KubernetesBuilt {
		t.Errorf("a cache not made yet: %+v, built %v; want its disk, writable, nothing built", facts.Cache, facts.KubernetesBuilt)
	}
	if _, err := os.Stat(filepath.Dir(cache)); !os.IsNotExist(err) {
		t.Errorf("looking made the directory: %v", err)
	}
	if facts.Loopback != nil || facts.OpenFiles == 0 || facts.MemoryAvailable == 0 {
		t.Errorf("loopback %v, open files %d, memory %d; want all known", facts.Loopback, facts.OpenFiles, facts.MemoryAvailable)
	}
	if facts.Proxy != nil {
		t.Errorf("the network was asked without need: %+v", facts.Proxy)
	}
}

func TestGatherFindsKubernetesInTheCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("TESTBED_CACHE", cache)
	directory := filepath.Join(cache, "kubernetes", "assets", "0123abcd")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	built := func() bool {
		facts, err := doctor.Gather(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		return facts.KubernetesBuilt
	}
	program := filepath.Join(cache, "program")
	if err := os.Symlink(program, filepath.Join(directory, "kube-apiserver")); err != nil {
		t.Fatal(err)
	}
	if built() {
		t.Error("a link to nothing counts as built")
	}
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if !built() {
		t.Error("an API server in the cache was not found")
	}
}

func TestGatherFindsHowKubernetesWasMade(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("TESTBED_CACHE", cache)
	add := func(key, record string) {
		directory := filepath.Join(cache, "kubernetes", "assets", key)
		err := errors.Join(os.MkdirAll(directory, 0o755), os.WriteFile(filepath.Join(directory, "kube-apiserver"), nil, 0o755),
			os.WriteFile(filepath.Join(directory, "kube-apiserver.json"), []byte(record), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(from string) {
		t.Helper()
		facts, err := doctor.Gather(t.Context(), false)
		if err != nil || !facts.KubernetesBuilt || facts.KubernetesFrom != from {
			t.Errorf("built %v, from %q, %v; expected %q", facts.KubernetesBuilt, facts.KubernetesFrom, err, from)
		}
	}
	add("a", `{"origin": "https://dl.k8s.io/release/v1.37.0/bin/linux/amd64/kube-apiserver"}`)
	expect("dl.k8s.io")
	add("b", `{"size": 1}`)
	expect("")
}

func TestGatherAsksTheFirstProxy(t *testing.T) {
	var asked string
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		w.WriteHeader(status)
	}))
	defer server.Close()

	t.Setenv("GOPROXY", server.URL+"/,direct")
	facts, err := doctor.Gather(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if want := "/k8s.io/apimachinery/@v/v0.37.0.info"; asked != want || facts.Proxy.Err != nil {
		t.Errorf("asked %q, want %q; error %v", asked, want, facts.Proxy.Err)
	}

	status = http.StatusForbidden
	if facts, err = doctor.Gather(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if facts.Proxy.Err == nil {
		t.Error("an answer of 403 counts as reachable")
	}

	t.Setenv("GOPROXY", "off")
	if facts, err = doctor.Gather(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if facts.Proxy.URL != "" {
		t.Errorf("GOPROXY=off was asked at %q", facts.Proxy.URL)
	}
}

// TestGatherGoSettings has settings in each of the places where the Go command looks for them.
func TestGatherGoSettings(t *testing.T) {
	directory := t.TempDir()
	work, written := filepath.Join(directory, "go.work"), filepath.Join(directory, "env")
	if err := errors.Join(os.WriteFile(work, []byte("go 1.26.0\n"), 0o600), os.WriteFile(written, []byte("GOOS=plan9\nGOFLAGS=-x\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"GO111MODULE", "GOOS", "GOARCH"} {
		t.Setenv(name, "") // go test exports the last two
	}
	t.Setenv("TESTBED_CACHE", filepath.Join(directory, "cache"))
	t.Setenv("GOENV", written)
	t.Setenv("GOFLAGS", "-mod=vendor")
	t.Setenv(gocommand.ProfileVariable, "")
	t.Chdir(directory)
	if err := gocommand.Setup(); err != nil {
		t.Fatal(err)
	}
	facts, err := doctor.Gather(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	want := []doctor.GoSetting{
		{Name: "GOFLAGS", Value: "-mod=vendor"}, {Name: "GOOS", Value: "plan9", Written: true}, {Name: "GOWORK", Value: work},
	}
	if !slices.Equal(facts.GoSettings, want) {
		t.Errorf("the settings are %+v, expected %+v", facts.GoSettings, want)
	}
}
