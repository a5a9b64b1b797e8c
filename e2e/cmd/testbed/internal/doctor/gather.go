package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/cluster/kind"
	"github.com/example/operator-testbed/e2e/host/gocommand"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/sdk"
)

// proxyPatience is how long the module proxy may take to answer.
const proxyPatience = 10 * time.Second

// Gather looks at this machine. It leaves nothing behind, and asks the network
// only when network is true.
func Gather(ctx context.Context, network bool) (Facts, error) {
	cache, err := home.Cache()
	if err != nil {
		return Facts{}, err
	}
	state, err := home.State()
	if err != nil {
		return Facts{}, err
	}
	facts := Facts{
		PackageManager: firstOnPath("xcode-select", "apt-get", "dnf", "apk", "pacman", "zypper"),
		Go:             lookUp(ctx, "go", "env", "GOVERSION"),
		Make:           lookUp(ctx, "make", "--version"),
		Git:            lookUp(ctx, "git", "--version"),
		GoSettings:     goSettings(ctx),
		Engine:         askEngine(ctx, kind.Program()),
		Loopback:       tryLoopback(),
		Cache:          lookAtDirectory(cache),
		State:          lookAtDirectory(state),
		Temp:           lookAtDirectory(os.TempDir()),
	}
	facts.KubernetesBuilt, facts.KubernetesFrom = kubernetesIn(cache)
	goEnv := func(name string) string { return output(ctx, "go", "env", name) }
	facts.GoBuild = lookAtDirectory(goEnv("GOCACHE"))
	facts.GoModules = lookAtDirectory(goEnv("GOMODCACHE"))
	facts.Localhost, _ = net.DefaultResolver.LookupHost(ctx, "localhost")

	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil {
		facts.OpenFiles = files.Max
	}
	gatherSystem(&facts)
	_, facts.SDK = sdk.Beside()
	facts.Ansible = sdk.FindAnsible()
	if network {
		facts.Proxy = new(tryProxy(ctx, goEnv("GOPROXY")))
	}
	return facts, nil
}

// goSettings returns what a Go command that the user types here would get from the environment, from `go env -w`, and from a go.work.
func goSettings(ctx context.Context) []GoSetting {
	// A value that changes nothing is not reported.
	normal := map[string][]string{"GO111MODULE": {"on", "auto"}, "GOOS": {runtime.GOOS}, "GOARCH": {runtime.GOARCH}, "GOWORK": {"off"}}
	var settings []GoSetting
	for _, variable := range gocommand.Profile() {
		if name, value, _ := strings.Cut(variable, "="); !slices.Contains(normal[name], value) {
			settings = append(settings, GoSetting{Name: name, Value: value})
		}
	}
	seen := func(name string) bool {
		return slices.ContainsFunc(settings, func(s GoSetting) bool { return s.Name == name })
	}
	command := exec.CommandContext(ctx, "go", "env", "-json", "GOFLAGS", "GO111MODULE", "GOOS", "GOARCH", "GOWORK")
	command.Env = gocommand.Unset(os.Environ())
	out, err := command.Output()
	var effective map[string]string
	if err != nil || json.Unmarshal(out, &effective) != nil {
		return settings // without Go, there are other findings
	}
	for _, name := range slices.Sorted(maps.Keys(effective)) {
		value := effective[name]
		if value != "" && !slices.Contains(normal[name], value) && !seen(name) {
			settings = append(settings, GoSetting{Name: name, Value: value, Written: name != "GOWORK"})
		}
	}
	return settings
}

// kubernetesIn looks for API servers in the directories that kind/kubernetes
// makes, <cache>/kubernetes/assets/<what it was made from>/. They may be those of
// another version, so this is a hint about the size of the work ahead, no more. A
// compiled one is used rather than one that was downloaded from a host.
func kubernetesIn(cache string) (built bool, from string) {
	servers, _ := filepath.Glob(filepath.Join(cache, "kubernetes", "assets", "*", embedded.KubeAPIServer))
	for _, server := range servers {
		if _, err := os.Stat(server); err != nil {
			continue // a link may point to what somebody deleted
		}
		origin, err := url.Parse(embedded.Origin(filepath.Dir(server)))
		if err != nil || origin.Host == "" {
			return true, ""
		}
		built, from = true, origin.Host
	}
	return built, from
}

func firstOnPath(names ...string) string {
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}

// lookUp finds a program, and asks its version with the arguments.
func lookUp(ctx context.Context, name string, versionArgs ...string) Tool {
	path, err := exec.LookPath(name)
	if err != nil {
		return Tool{}
	}
	return Tool{Path: path, Version: output(ctx, name, versionArgs...)}
}

// output is the first line that a program prints, or "" when it fails.
func output(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// lookAtDirectory looks at a directory, or at the nearest one above it that exists.
func lookAtDirectory(path string) Directory {
	var disk unix.Statfs_t
	existing := path
	for unix.Statfs(existing, &disk) != nil && existing != filepath.Dir(existing) {
		existing = filepath.Dir(existing)
	}
	return Directory{Path: path, Missing: existing != path, Writable: unix.Access(existing, unix.W_OK) == nil, Free: disk.Bavail * uint64(disk.Bsize)}
}

// tryLoopback connects to itself over 127.0.0.1 on a free port.
func tryLoopback() error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("can't listen on 127.0.0.1: %w", err)
	}
	defer listener.Close()
	conn, err := net.DialTimeout("tcp4", listener.Addr().String(), 10*time.Second)
	if err != nil {
		return fmt.Errorf("can't connect to a port on 127.0.0.1: %w", err)
	}
	return conn.Close()
}

// tryProxy asks the first proxy in a GOPROXY list for the smallest file there
// is of a module that the testbed needs.
func tryProxy(ctx context.Context, setting string) Proxy {
	proxy := Proxy{Setting: setting}
	first, _, _ := strings.Cut(strings.ReplaceAll(setting, "|", ","), ",")
	if !strings.HasPrefix(first, "http") {
		return proxy
	}
	proxy.URL = strings.TrimSuffix(first, "/") + "/k8s.io/apimachinery/@v/v0.37.0.info"
	ctx, cancel := context.WithTimeout(ctx, proxyPatience)
	defer cancel()
	proxy.Took, proxy.Err = answer(ctx, proxy.URL)
	return proxy
}

// answer returns how long a server takes to answer, or why it does not.
func answer(ctx context.Context, url string) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, fmt.Errorf("GOPROXY names no address: %w", err)
	}
	begin := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("the module proxy does not answer: %w", err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answered %s", url, response.Status)
	}
	return time.Since(begin), nil
}
