package testenv

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// untilKilled is a shell script that reads the names of more directories until its input ends. Then it kills the processes that name the
// first one, $1, in their arguments, and removes all once these are gone: as zombies without threads (l), they have no ports or files left.
//
//nolint:dupword // the ends of two loops
const untilKilled = `first=$1
while read -r more; do set -- "$@" "$more"; done
ps -A -ww -o pid= -o args= | while read -r pid args; do
	case $args in *untilKilled*) ;; *"$first"*) kill -9 "$pid" && echo "$pid" ;; esac
done | while read -r pid; do
	while case $(ps -o stat= -p "$pid") in Z*l*) ;; '' | Z*) false ;; esac; do sleep 0.1; done
done
rm -rf "$@"`

// watcher kills what an environment has started when this process has been killed, which then can't do it itself.
type watcher struct {
	directory string // of the environment's files
	input     io.WriteCloser
	shell     *exec.Cmd
}

// endWithTests starts the watcher of an environment that will be started.
func endWithTests(environment *envtest.Environment) (_ *watcher, err error) {
	directory, err := os.MkdirTemp("", "testenv-")
	if err != nil {
		return nil, err
	}
	w := &watcher{directory: directory, shell: exec.Command("/bin/sh", "-c", untilKilled, "untilKilled", directory)}
	// What kills the process group of the tests does not reach another session.
	w.shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if w.input, err = w.shell.StdinPipe(); err == nil {
		err = w.shell.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(directory))
	}
	server, etcd := filepath.Join(directory, "apiserver"), filepath.Join(directory, "etcd")
	environment.ControlPlane.GetAPIServer().CertDir = server
	environment.ControlPlane.Etcd = &envtest.Etcd{DataDir: etcd}
	if err := errors.Join(os.Mkdir(server, 0o700), os.Mkdir(etcd, 0o700)); err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

// watch adds what the environment has chosen itself when it was started.
func (w *watcher) watch(environment *envtest.Environment) error {
	_, err := fmt.Fprintln(w.input, environment.WebhookInstallOptions.LocalServingCertDir)
	return err
}

// end ends the watcher, and removes the environment's files.
func (w *watcher) end() error {
	return errors.Join(w.input.Close(), w.shell.Wait())
}
