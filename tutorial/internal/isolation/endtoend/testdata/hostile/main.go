// Command hostile is an operator that goes for what is in the cell with it: the cluster's secrets, and the processes of the grader. Its
// last line says what it got.
package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	var got, missed []string
	note := func(what string, err error) {
		if err == nil {
			got = append(got, what)
		} else {
			missed = append(missed, fmt.Sprintf("%s (%v)", what, err))
		}
	}
	_, err := os.ReadDir("/")
	note("the root directory", err)
	// The operator's own kubeconfig is beside the cluster's secrets.
	cluster := filepath.Dir(filepath.Dir(os.Getenv("KUBECONFIG")))
	for _, secret := range []string{"tokens.csv", "kubeconfig", "pki/service-accounts.key", "audit.log"} {
		_, err := os.ReadFile(filepath.Join(cluster, secret))
		note(secret, err)
	}
	for _, socket := range []string{"etcd/client.sock:0", "control.sock"} {
		connection, err := net.Dial("unix", filepath.Join(cluster, socket))
		if err == nil {
			connection.Close()
		}
		note(socket, err)
	}
	supervisor := fmt.Sprint(os.Getppid())
	_, err = os.ReadFile("/proc/" + supervisor + "/environ")
	note("the supervisor's environment", err)
	note("a signal to the supervisor", syscall.Kill(os.Getppid(), 0))
	working, err := os.ReadDir(".")
	if err == nil && len(working) == 0 {
		err = fmt.Errorf("it is empty")
	}
	note("the working directory", err)
	fmt.Printf("MISSED %s\nGOT %s\n", strings.Join(missed, ", "), strings.Join(got, ", "))
	os.Exit(1)
}
