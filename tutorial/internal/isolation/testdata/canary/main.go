// Command canary tries what a hostile operator would. Each argument is one thing to try, as words that are separated by spaces; it
// prints a line for each: "yes", or "no" and the error.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	for _, argument := range os.Args[1:] {
		words := strings.Fields(argument)
		err := try(words[0], words[1:])
		switch {
		case err != nil:
			fmt.Printf("%s: no, %v\n", argument, err)
		default:
			fmt.Printf("%s: yes\n", argument)
		}
	}
}

func try(what string, with []string) error {
	switch what {
	case "read":
		f, err := os.Open(with[0])
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			_, err := f.ReadDir(-1)
			return err
		}
		_, err = io.ReadAll(io.LimitReader(f, 1))
		return err
	case "write":
		return os.WriteFile(with[0], []byte("canary"), 0o600)
	case "append":
		f, err := os.OpenFile(with[0], os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		return f.Close()
	case "truncate":
		return os.Truncate(with[0], 0)
	case "chmod":
		return os.Chmod(with[0], 0o600)
	case "touch":
		return os.Chtimes(with[0], time.Now(), time.Now())
	case "remove":
		return os.Remove(with[0])
	case "execute":
		return exec.Command(with[0], with[1:]...).Run()
	case "become":
		return syscall.Exec(with[0], with, nil)
	case "daemon":
		// One that outlives this process, and leaves its group and session.
		daemon := exec.Command("/proc/self/exe", "sleep")
		daemon.Args = append(daemon.Args, with...)
		daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return daemon.Start()
	case "sleep":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		<-time.After(time.Hour)
		return nil
	case "kill":
		return syscall.Kill(number(with[0]), 0)
	case "own":
		return own(number(with[0]))
	case "kill-self":
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, syscall.SIGUSR1)
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			return err
		}
		<-caught
		return nil
	case "ptrace":
		// Attached and waited for by one thread.
		runtime.LockOSThread()
		if err := syscall.PtraceAttach(number(with[0])); err != nil {
			return err
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(number(with[0]), &status, 0, nil); err != nil {
			return err
		}
		return syscall.PtraceDetach(number(with[0]))
	case "limit":
		limit := syscall.Rlimit{Cur: 50, Max: 50}
		return call(syscall.SYS_PRLIMIT64, uintptr(number(with[0])), syscall.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&limit)))
	case "dial":
		return dial(with[0], with[1])
	case "listen":
		listener, err := net.Listen("tcp", with[0])
		if err != nil {
			return err
		}
		return listener.Close()
	case "call":
		return call(uintptr(number(with[0])), uintptr(number(with[1])), uintptr(number(with[2])), uintptr(number(with[3])))
	case "threads":
		return threads(number(with[0]))
	case "forks":
		return forks(number(with[0]))
	case "memory":
		return memory(number(with[0]))
	case "shared":
		return mapped(number(with[0]), syscall.MAP_SHARED)
	case "stack":
		return mapped(number(with[0]), syscall.MAP_PRIVATE|syscall.MAP_GROWSDOWN)
	case "grown":
		return grown(number(with[0]))
	case "zero":
		return zero(number(with[0]))
	case "nest":
		return nest(with[0], number(with[1]))
	case "lock":
		return lock(with[0])
	case "files":
		return files(with[0], number(with[1]), number(with[2]))
	case "output":
		line := []byte(strings.Repeat("x", 1023) + "\n")
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return err
			}
		}
	case "loop":
		for {
			runtime.Gosched()
		}
	case "environment":
		return fmt.Errorf("it is %q", os.Environ())
	case "exit":
		os.Exit(number(with[0]))
	}
	return fmt.Errorf("%s is nothing to try", what)
}

func number(text string) int {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		panic(err)
	}
	return int(n)
}

func call(number, a, b, c uintptr) error {
	if _, _, errno := syscall.Syscall(number, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

// dial contacts a listener. "mptcp" and "fastopen" are ways to TCP listeners.
func dial(network, address string) error {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	switch network {
	case "fastopen":
		return fastOpen(address)
	case "mptcp":
		return multipath(address)
	case "abstract":
		network, address = "unix", "@"+address
	}
	connection, err := dialer.DialContext(context.Background(), network, address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if network == "udp" {
		_, err = connection.Write([]byte("canary"))
	}
	return err
}

// own asks the kernel to signal a process when there is something to read in a pipe. Nothing is ever written to it.
func own(process int) error {
	reading, _, err := os.Pipe()
	if err != nil {
		return err
	}
	return call(syscall.SYS_FCNTL, reading.Fd(), syscall.F_SETOWN, uintptr(process))
}

// target returns the address in the form of system calls.
func target(address string) (*syscall.SockaddrInet4, error) {
	resolved, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, err
	}
	return &syscall.SockaddrInet4{Port: resolved.Port, Addr: [4]byte(resolved.IP.To4())}, nil
}

func multipath(address string) error {
	to, err := target(address)
	if err != nil {
		return err
	}
	const protocol = 262
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	defer syscall.Close(socket)
	return syscall.Connect(socket, to)
}

func fastOpen(address string) error {
	to, err := target(address)
	if err != nil {
		return err
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(socket)
	const flag = 0x20000000
	return syscall.Sendto(socket, []byte("canary"), flag, to)
}

// threads starts threads that all live at the same time.
func threads(n int) error {
	ready, done := make(chan struct{}), make(chan struct{})
	for range n {
		go func() {
			runtime.LockOSThread()
			ready <- struct{}{}
			<-done
		}()
	}
	for range n {
		<-ready
	}
	close(done)
	return nil
}

// forks starts processes that sleep, up to a number or for as long as it may.
func forks(n int) error {
	for range n {
		if exec.Command("/proc/self/exe", "sleep").Start() != nil {
			break
		}
	}
	<-time.After(time.Hour)
	return nil
}

// kept is memory that is in use for as long as this process runs.
var kept [][]byte

// memory writes to that many MiB, and keeps them.
func memory(mebibytes int) error {
	for range mebibytes {
		kept = append(kept, bytes.Repeat([]byte{1}, 1<<20))
	}
	return nil
}

// mapped writes to that many MiB of memory that the kernel does not count as a program's data, and keeps them.
func mapped(mebibytes, flags int) error {
	memory, err := syscall.Mmap(-1, 0, mebibytes<<20, syscall.PROT_READ|syscall.PROT_WRITE, flags|syscall.MAP_ANON)
	if err != nil {
		return err
	}
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	return nil
}

// grown does the same with a copy of the stack that is made larger, as the kernel does not count stacks either.
func grown(mebibytes int) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		// What is not readable can be found out otherwise: the environment is on the stack.
		maps = fmt.Appendf(nil, "%x-0 [stack]\n", uintptr(unsafe.Pointer(unsafe.StringData(os.Args[0])))&^uintptr(os.Getpagesize()-1))
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.HasSuffix(line, "[stack]\n") {
			continue
		}
		from, _, _ := strings.Cut(line, "-")
		at, err := strconv.ParseUint(from, 16, 64)
		if err != nil {
			return err
		}
		const mayMove = 1
		size := uintptr(os.Getpagesize())
		memory, _, errno := syscall.Syscall6(syscall.SYS_MREMAP, uintptr(at), size, uintptr(mebibytes)<<20, mayMove, 0, 0)
		if errno != 0 {
			return errno
		}
		for i := uintptr(0); i < uintptr(mebibytes)<<20; i += size {
			*(*byte)(unsafe.Pointer(memory + i)) = 1 //nolint:govet // it is not Go's memory
		}
		return nil
	}
	return fmt.Errorf("there is no stack in %s", maps)
}

// zero does the same with memory that is shared through a device.
func zero(mebibytes int) error {
	device, err := os.OpenFile("/dev/zero", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = syscall.Mmap(int(device.Fd()), 0, mebibytes<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	return err
}

// nest makes directories, each in the one before, deeper than a path can be long.
func nest(dir string, depth int) error {
	at, err := syscall.Open(dir, syscall.O_DIRECTORY|syscall.O_RDONLY, 0)
	for range depth {
		if err != nil {
			return err
		}
		if err = syscall.Mkdirat(at, "d", 0o700); err == nil {
			var in int
			in, err = syscall.Openat(at, "d", syscall.O_DIRECTORY|syscall.O_RDONLY, 0)
			_ = syscall.Close(at)
			at = in
		}
	}
	return err
}

// lock makes a directory with a file in it that its owner can neither list nor change.
func lock(dir string) error {
	dir += "/locked"
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		return err
	}
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return opened.Chmod(0)
}

// files writes that many files of so many KiB.
func files(dir string, n, kibibytes int) error {
	content := make([]byte, kibibytes<<10)
	for i := range n {
		if err := os.WriteFile(fmt.Sprintf("%s/%d", dir, i), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
