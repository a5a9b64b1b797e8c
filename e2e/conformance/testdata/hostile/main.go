// Command hostile is what somebody could give away as an operator: it goes for the files, the variables and the network of the one who
// checks it, prints what it has reached, and exits.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
)

// file and listener are set when it is compiled.
var file, listener string

func main() {
	var reached []string
	if _, err := os.ReadFile(file); err == nil {
		reached = append(reached, "a file")
	}
	if os.Getenv("TOKEN_OF_THE_USER") != "" {
		reached = append(reached, "a variable")
	}
	if connection, err := net.Dial("tcp", listener); err == nil {
		connection.Close()
		reached = append(reached, "a server")
	}
	if exec.Command("/bin/true").Run() == nil {
		reached = append(reached, "another program")
	}
	fmt.Printf("hostile: reached [%s]\n", strings.Join(reached, ", "))
	os.Exit(1)
}
