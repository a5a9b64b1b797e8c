// Package confinement runs one program that nobody trusts, such as a student's operator: with fewer system calls, with files and
// ports that are listed, and without the permissions of root. It ends in execve, so the process keeps its id, and whoever started it
// can stop, kill and pause it as if nothing stood in between.
//
// What the program may do is a list of flags before it, see [Rules]. None of it comes from the environment, so variables that are
// meant for the program can't reach what confines it.
package confinement

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Command is the first argument of a process that is to become the program.
const Command = "isolation-confinement"

// Rules are what a program may do. As flags they are -read=PATH, -write=DIRECTORY, -connect=PORT, -bind=PORT and -env=NAME=VALUE, each
// as often as needed, and -cpu, -file-size and -memory.
type Rules struct {
	// Read are files and directories that it may read, besides the few that every Go program reads, such as /etc/hosts.
	Read []string
	// Write are directories that it may read and write. It starts in the first of them.
	Write []string
	// Connect and Bind are the TCP ports that it may connect to, and listen on. The kernel checks them from Linux 6.7 on.
	Connect, Bind []uint16
	// Env is its whole environment. The last of several variables with one name counts.
	Env []string
	// CPU is how much processor time it has. Zero means as much as it likes.
	CPU time.Duration
	// FileSize is how large a file can get through it, and Memory how much private memory it can write to, in bytes. Zero means as
	// much as it likes.
	FileSize, Memory int64
}

// Flags returns the rules as arguments, for [Main] to read.
func (r Rules) Flags() []string {
	var flags []string
	add := func(name string, values ...string) {
		for _, value := range values {
			flags = append(flags, "-"+name+"="+value)
		}
	}
	add("read", r.Read...)
	add("write", r.Write...)
	for _, port := range r.Connect {
		add("connect", strconv.Itoa(int(port)))
	}
	for _, port := range r.Bind {
		add("bind", strconv.Itoa(int(port)))
	}
	add("env", r.Env...)
	if r.CPU > 0 {
		add("cpu", r.CPU.String())
	}
	if r.FileSize > 0 {
		add("file-size", strconv.FormatInt(r.FileSize, 10))
	}
	if r.Memory > 0 {
		add("memory", strconv.FormatInt(r.Memory, 10))
	}
	return flags
}

// parse reads the flags, and the program with its arguments behind them.
func parse(args []string) (r Rules, program []string, err error) {
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	list := func(name string, to *[]string) {
		flags.Func(name, "", func(value string) error {
			*to = append(*to, value)
			return nil
		})
	}
	ports := func(name string, to *[]uint16) {
		flags.Func(name, "", func(value string) error {
			port, err := strconv.ParseUint(value, 10, 16)
			*to = append(*to, uint16(port))
			return err
		})
	}
	list("read", &r.Read)
	list("write", &r.Write)
	ports("connect", &r.Connect)
	ports("bind", &r.Bind)
	list("env", &r.Env)
	flags.DurationVar(&r.CPU, "cpu", 0, "")
	flags.Int64Var(&r.FileSize, "file-size", 0, "")
	flags.Int64Var(&r.Memory, "memory", 0, "")
	if err := flags.Parse(args); err != nil {
		return r, nil, err
	}
	for _, variable := range r.Env {
		if !strings.Contains(variable, "=") {
			return r, nil, fmt.Errorf("-env=%s: want NAME=VALUE", variable)
		}
	}
	if r.Env != nil {
		r.Env = (&exec.Cmd{Env: r.Env}).Environ() // or the first would count
	}
	program = flags.Args()
	if len(program) == 0 || !filepath.IsAbs(program[0]) {
		return r, nil, errors.New("give the absolute path of the program behind --")
	}
	return r, program, nil
}

// Main turns this process into the program that the arguments name. It returns only when that fails, with the exit code; what failed
// is on stderr, where the program's log is.
func Main(args []string) int {
	rules, program, err := parse(args)
	if err == nil {
		err = become(rules, program)
	}
	fmt.Fprintf(os.Stderr, "confine %s: %v\n", strings.Join(program, " "), err)
	return 126 // what shells say of a command that can't be executed
}
