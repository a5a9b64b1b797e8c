package runner

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/e2e/confinement"
)

// Confinement says how an operator is confined that is not the caller's own: see [Options]. It may
//
//   - read its kubeconfig and its certificates, and write to its own directory, in which it starts;
//   - connect to the API server, to itself, and to the URLs in the variables of [Options.Env];
//   - listen on the ports that the runner gives it;
//   - and it has the variables that its manifests, the runner and [Options.Env] set, besides a PATH, a HOME and a TMPDIR.
//
// Package confinement says what else it is refused.
type Confinement struct {
	// Optional runs the operator on a platform that can't confine any, too, although with no other variables.
	Optional bool `json:"optional,omitempty"`
	// DeclaredPorts lets it listen on the ports of the manager's containers as well, and on the one that controller-runtime serves metrics
	// at if no flag says where.
	DeclaredPorts bool `json:"declaredPorts,omitempty"`
	// Directory is the absolute path of the directory that it starts in, which it may read. Without one, it starts in its private directory.
	Directory string `json:"directory,omitempty"`
	// FileSize is how large a file can get through it, and Memory how much private memory it can write to, in bytes. Zero means as much
	// as it likes.
	FileSize int64 `json:"fileSize,omitempty"`
	Memory   int64 `json:"memory,omitempty"`
}

// defaultMetricsPort is where controller-runtime serves metrics if it is not configured.
const defaultMetricsPort = "8080"

// confine returns the process of an operator that is not the caller's own: confined, with nothing of this process's environment. What the
// manifests say, such as LD_PRELOAD, reaches the operator alone, and not what confines it.
func (r *Replica) confine(p supervisor.Process, o Options) (supervisor.Process, error) {
	rules, err := r.rules(o)
	if err != nil {
		return p, err
	}
	path, err := filepath.Abs(p.Path)
	if err != nil {
		return p, err
	}
	rules.Env = append(rules.Env, p.Env...)
	line, err := rules.CommandLine(path, p.Args...)
	if err != nil {
		return p, err
	}
	p.Path, p.Args, p.Env, p.Traceable = line[0], line[1:], []string{searchPath}, false
	return p, nil
}

// searchPath is the PATH of a confined operator, which can't execute anything.
const searchPath = "PATH=/usr/bin:/bin"

// rules returns what a replica needs: its kubeconfig and its certificates, the API server and what the suite's variables name, and its
// own ports. It has a directory for itself. Manifests can't add to it, except for ports where that is said.
func (r *Replica) rules(o Options) (confinement.Rules, error) {
	private := r.privateDir()
	rules := confinement.Rules{
		Write: []string{private}, Env: []string{searchPath, "HOME=" + private, "TMPDIR=" + private},
		FileSize: o.Confinement.FileSize, Memory: o.Confinement.Memory, Optional: o.Confinement.Optional,
	}
	kubeconfig := r.operator.kubeconfig()
	connect, bind := map[string]bool{}, map[string]bool{}
	for _, variable := range o.Env {
		name, value, _ := strings.Cut(variable, "=")
		if name == "KUBECONFIG" {
			kubeconfig = value
		}
		if host, port := addressOf(value); port != "" && (host == "localhost" || net.ParseIP(host).IsLoopback()) {
			connect[port] = true
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return rules, err
	}
	_, port := addressOf(config.Host)
	connect[port] = true
	rules.Read = []string{kubeconfig}
	if o.Confinement.Directory != "" {
		rules.Read, rules.Dir = append(rules.Read, o.Confinement.Directory), o.Confinement.Directory
	}
	if certificates := r.operator.certificates(); exists(certificates) {
		rules.Read = append(rules.Read, certificates)
	}
	for _, address := range []string{r.at.health, r.at.metrics, r.at.webhook} {
		if _, port, err := net.SplitHostPort(address); err == nil {
			bind[port], connect[port] = true, true // an operator that is asked whether it is ready asks its own webhooks
		}
	}
	if o.Confinement.DeclaredPorts {
		for _, port := range append(r.operator.manager.Ports, defaultMetricsPort) {
			bind[port] = true
		}
	}
	rules.Connect, err = portNumbers(connect)
	if err == nil {
		rules.Bind, err = portNumbers(bind)
	}
	return rules, errors.Join(err, os.MkdirAll(private, 0o700))
}

// portNumbers returns the ports as numbers, in order.
func portNumbers(ports map[string]bool) ([]uint16, error) {
	var numbers []uint16
	for port := range ports {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("invalid port %q: %w", port, err)
		}
		numbers = append(numbers, uint16(number))
	}
	slices.Sort(numbers)
	return numbers, nil
}

// privateDir is the directory of a confined replica. It goes with the supervisor's.
func (r *Replica) privateDir() string {
	return filepath.Join(r.supervisor().Dir(), "operators", r.name+".private")
}

// addressOf returns the host and the port of a URL. Both are empty for any other text.
func addressOf(text string) (host, port string) {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" {
		return "", ""
	}
	return address.Hostname(), cmp.Or(address.Port(), map[string]string{"http": "80", "https": "443"}[address.Scheme])
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
