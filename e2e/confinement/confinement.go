// Package confinement runs a program that was not built from this repository, such as a student's operator or one from an image: with
// fewer system calls, with files and ports that are listed, without the permissions of root, and with no variables but those that are
// listed. It is the only way in which anything in this repository executes such a program; docs/execution_test.go looks for others.
//
// The confined program takes the place of a process that was started as this program (see [Rules.CommandLine]). It ends in execve, so the
// process keeps its id, and whatever started it can stop, kill and pause it as if nothing stood in between.
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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// command is the first argument of a process that is to become the program.
const command = "confine-program"

// A process that was started by [Rules.CommandLine] becomes the program before anything else of this program can run. No main function has
// to remember it: one that didn't would do its usual work again.
func init() {
	if len(os.Args) > 1 && os.Args[1] == command {
		os.Exit(run(os.Args[2:]))
	}
}

// Rules are what a program may do. As flags they are -read=PATH, -write=DIRECTORY, -connect=PORT, -bind=PORT and -env=NAME=VALUE, each
// as often as needed, and -cpu, -file-size, -memory and -optional.
type Rules struct {
	// Read are files and directories that it may read, besides the few that every Go program reads, such as /etc/hosts.
	Read []string
	// Write are directories that it may read and write. It starts in the first of them, unless there is a Dir.
	Write []string
	// Dir is the directory that it starts in, if it is not one that it may write to. Read has to name it, too.
	Dir string
	// Connect and Bind are the TCP ports that it may connect to, and listen on. The kernel checks them from Linux 6.7 on.
	Connect, Bind []uint16
	// Env is its whole environment. The last of several variables with one name counts.
	Env []string
	// CPU is how much processor time it has. Zero means as much as it likes.
	CPU time.Duration
	// FileSize is how large a file can get through it, and Memory how much private memory it can write to, in bytes. Zero means as
	// much as it likes.
	FileSize, Memory int64
	// Optional runs the program on a platform that can't confine any, too, although with no other environment. Without it, such a
	// platform refuses. A platform that can confine programs always does.
	Optional bool
}

// CommandLine returns the command line that runs a program, given by its absolute path, under the rules: this executable, which becomes
// the program. The environment of the process does not matter.
func (r Rules) CommandLine(program string, args ...string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the executable that confines %s: %w", program, err)
	}
	return slices.Concat([]string{self, command}, r.flags(), []string{"--", program}, args), nil
}

// flags returns the rules as arguments, for run to read.
func (r Rules) flags() []string {
	var flags []string
	add := func(name string, values ...string) {
		for _, value := range values {
			flags = append(flags, "-"+name+"="+value)
		}
	}
	add("read", r.Read...)
	add("write", r.Write...)
	if r.Dir != "" {
		add("directory", r.Dir)
	}
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
	if r.Optional {
		add("optional", "true")
	}
	return flags
}

// parse reads the flags, and the program with its arguments behind them.
func parse(args []string) (r Rules, program []string, err error) {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
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
	flags.StringVar(&r.Dir, "directory", "", "")
	ports("connect", &r.Connect)
	ports("bind", &r.Bind)
	list("env", &r.Env)
	flags.DurationVar(&r.CPU, "cpu", 0, "")
	flags.Int64Var(&r.FileSize, "file-size", 0, "")
	flags.Int64Var(&r.Memory, "memory", 0, "")
	flags.BoolVar(&r.Optional, "optional", false, "")
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

// run turns this process into the program that the arguments name. It returns only when that fails, with the exit code; what failed
// is on stderr, where the program's log is.
func run(args []string) int {
	rules, program, err := parse(args)
	if err == nil {
		err = become(rules, program)
	}
	fmt.Fprintf(os.Stderr, "confine %s: %v\n", strings.Join(program, " "), err)
	return 126 // what shells say of a command that can't be executed
}

// Supported returns what confines programs on this machine, such as "landlock7+seccomp", or an error that says why nothing does.
func Supported() (string, error) {
	version, err := supported()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("landlock%d+seccomp", version), nil
}

// unconfined executes a program as it is, with its own environment, in its own directory.
func unconfined(r Rules, program []string) error {
	if err := r.enter(); err != nil {
		return err
	}
	return fmt.Errorf("execute it: %w", syscall.Exec(program[0], program, r.Env))
}

// enter makes the directory that the program starts in the working directory of this process.
func (r Rules) enter() error {
	directory := r.Dir
	if directory == "" && len(r.Write) > 0 {
		directory = r.Write[0]
	}
	if directory == "" {
		return nil
	}
	return os.Chdir(directory)
}
