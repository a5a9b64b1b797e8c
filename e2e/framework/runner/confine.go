package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// ConfineVariable is the environment variable that holds a command line, as a JSON array, for an operator that nobody trusts: each of
// its processes is started through it, with a minimal environment instead of the suite's. The command gets flags that list what the
// operator may do, then "--" and the operator's own command line, which it executes: the process has to stay the same, so that it can be
// stopped, killed and paused. The flags are, as often as needed:
//
//	-read=PATH       a file or directory that it may read
//	-write=DIRECTORY one that it may read and write; it starts in the first
//	-connect=PORT    a TCP port that it may connect to
//	-bind=PORT       a TCP port that it may listen on
//	-env=NAME=VALUE  a variable of its environment
//
// What the manifests say, such as LD_PRELOAD, is behind -env and "--" alone, and never in the environment of the command.
const ConfineVariable = "TESTBED_CONFINE"

// confinement returns the command line in ConfineVariable, or nil if there is none.
func confinement() ([]string, error) {
	text := os.Getenv(ConfineVariable)
	if text == "" {
		return nil, nil
	}
	var command []string
	if err := json.Unmarshal([]byte(text), &command); err != nil || len(command) == 0 || !filepath.IsAbs(command[0]) {
		return nil, fmt.Errorf(`invalid %s %q: want a JSON array such as ["/usr/bin/confine","-v"]`, ConfineVariable, text)
	}
	return command, nil
}

// access is what a confined operator may do.
type access struct {
	read, write   []string
	connect, bind []string
}

// access returns what a replica needs: its kubeconfig and its certificates, the API server and what the suite's variables name, and its
// own ports. It has a directory for itself. Manifests can't add to it.
func (r *Replica) access(o Options) (access, error) {
	kubeconfig := r.operator.kubeconfig()
	connect := map[string]bool{}
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
		return access{}, err
	}
	_, port := addressOf(config.Host)
	connect[port] = true
	a := access{read: []string{kubeconfig}, write: []string{r.privateDir()}}
	if certificates := r.operator.certificates(); exists(certificates) {
		a.read = append(a.read, certificates)
	}
	for _, address := range []string{r.at.health, r.at.metrics, r.at.webhook} {
		if _, port, err := net.SplitHostPort(address); err == nil {
			a.bind = append(a.bind, port)
			connect[port] = true // an operator that is asked whether it is ready asks its own webhooks
		}
	}
	a.connect = slices.Sorted(maps.Keys(connect))
	return a, os.MkdirAll(r.privateDir(), 0o700)
}

// privateDir is the directory of a replica that nobody trusts. It goes with the supervisor's.
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

// confined returns a process, whose environment has nothing of the suite's, started through a command.
func confined(p supervisor.Process, command []string, a access) supervisor.Process {
	args := slices.Clone(command[1:])
	add := func(name string, values ...string) {
		for _, value := range values {
			args = append(args, "-"+name+"="+value)
		}
	}
	add("read", a.read...)
	add("write", a.write...)
	add("connect", a.connect...)
	add("bind", a.bind...)
	add("env", "PATH=/usr/bin:/bin", "HOME="+a.write[0], "TMPDIR="+a.write[0])
	add("env", p.Env...)
	p.Args = slices.Concat(args, []string{"--", p.Path}, p.Args)
	p.Path, p.Env = command[0], []string{"PATH=/usr/bin:/bin"}
	return p
}
