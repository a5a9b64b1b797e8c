package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// provideCertificate makes the certificate that the manager expects, has the process find it, and returns the authority to trust. It
// returns nil for an operator that makes its own.
func (o *Operator) provideCertificate() (authority []byte, err error) {
	if len(o.manager.Certificates) == 0 {
		return nil, nil
	}
	root := o.certificates()
	authority, err = writeCertificate(root, o.options.Manifests, o.manager)
	o.manager = within(root, o.manager)
	return authority, err
}

// writeCertificate writes a certificate for the Services of the manifests, and its key, to files where the manager expects them, below
// root, and returns what to trust: the authority that has signed it is at the end of its chain. The files are called as those of a
// Secret for TLS in a volume.
func writeCertificate(root string, m manifest.Set, manager manifest.Manager) (authority []byte, err error) {
	files, err := makeCertificate(m, manager)
	if err != nil {
		return nil, err
	}
	for _, directory := range manager.Certificates {
		directory = filepath.Join(root, filepath.Clean("/"+directory)) // the manifests can't lead out of it
		err = errors.Join(err, os.MkdirAll(directory, 0o700))
		for name, content := range files {
			err = errors.Join(err, os.WriteFile(filepath.Join(directory, name), content, 0o600))
		}
	}
	return files[authorityFile], err
}

// authorityFile is the key, in a Secret for TLS, of the authority to trust.
const authorityFile = "ca.crt"

// makeCertificate makes a certificate for the Services of the manifests, and returns it as a Secret for TLS has it.
func makeCertificate(m manifest.Set, manager manifest.Manager) (files map[string][]byte, err error) {
	var hosts []string
	for _, service := range m.Select("Service") {
		hosts = append(hosts, fmt.Sprintf("%s.%s.svc", service.GetName(), service.GetNamespace()))
	}
	chain, key, err := certutil.GenerateSelfSignedCertKey(manager.Deployment.Name, nil, hosts)
	if err != nil {
		return nil, fmt.Errorf("making a certificate for %s: %w", strings.Join(hosts, ", "), err)
	}
	return map[string][]byte{corev1.TLSCertKey: chain, corev1.TLSPrivateKeyKey: key, authorityFile: chain}, nil
}

// within returns the manager as it finds its certificates below root: arguments and variables name the directories there, and so does
// the directory of temporary files, which is where controller-runtime looks if nothing is said.
func within(root string, m manifest.Manager) manifest.Manager {
	var directories []string
	for _, directory := range m.Certificates {
		directories = append(directories, regexp.QuoteMeta(directory))
	}
	places := regexp.MustCompile(`(^|=)(` + strings.Join(directories, "|") + `)(/|$)`)
	moved := func(values []string) []string {
		var all []string
		for _, value := range values {
			all = append(all, places.ReplaceAllString(value, "${1}"+strings.ReplaceAll(root, "$", "$$")+"${2}${3}"))
		}
		return all
	}
	const temporary = "/tmp"
	m.Args, m.Env = moved(m.Args), moved(m.Env)
	if slices.ContainsFunc(m.Certificates, func(directory string) bool { return strings.HasPrefix(directory, temporary+"/") }) {
		m.Env = append(m.Env, "TMPDIR="+root+temporary)
	}
	return m
}
