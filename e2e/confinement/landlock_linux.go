//go:build amd64 || arm64

package confinement

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

const (
	readFile  landlock.AccessFSSet = ll.AccessFSReadFile
	readDir                        = readFile | ll.AccessFSReadDir
	writeFile                      = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	// writeDir has no permission to execute: the only program is the one that was started.
	writeDir = readDir | writeFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSym |
		ll.AccessFSRemoveDir | ll.AccessFSRemoveFile
	execute = readFile | ll.AccessFSExecute
)

// everybodys are files that Go programs read: how names are resolved, certificates that are public, time zones.
var everybodys = []string{
	"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/localtime", "/etc/ssl/certs", "/etc/pki/tls/certs",
	"/usr/share/ca-certificates", "/usr/share/zoneinfo", "/dev/urandom",
}

// libraries are where the system has its libraries, which only a program that is not static needs: one that was built with cgo.
var libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"}

// dynamicallyLinked reports whether the kernel starts a program through another one.
func dynamicallyLinked(executable string) (bool, error) {
	file, err := elf.Open(executable)
	if err != nil {
		return false, fmt.Errorf("read the executable: %w", err)
	}
	defer file.Close()
	return slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }), nil
}

// Version returns the version of Landlock that the kernel has, or 0 if it has none.
func Version() int {
	version, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// supported returns the version of Landlock that the kernel has.
func supported() (int, error) {
	version := Version()
	if version == 0 {
		return 0, errors.New("the kernel has no Landlock: use Linux 5.13 or later, with landlock among its security modules (lsm=)")
	}
	return version, nil
}

// restrictFilesAndPorts leaves the program what the rules list. What the kernel's version of Landlock can't restrict is up to the
// filter of system calls, and to the wall around.
func restrictFilesAndPorts(r Rules, executable string) error {
	if _, err := supported(); err != nil {
		return err
	}
	rules := []landlock.Rule{landlock.PathAccess(execute, executable), landlock.PathAccess(writeFile, "/dev/null")}
	for _, path := range everybodys {
		if rule, err := reading(path); err == nil {
			rules = append(rules, rule)
		}
	}
	if linked, err := dynamicallyLinked(executable); err != nil {
		return err
	} else if linked {
		for _, path := range libraries {
			if _, err := os.Stat(path); err == nil {
				rules = append(rules, landlock.PathAccess(readDir|execute, path))
			}
		}
	}
	for _, path := range r.Read {
		rule, err := reading(path)
		if err != nil {
			return err
		}
		rules = append(rules, rule)
	}
	if len(r.Write) > 0 {
		rules = append(rules, landlock.PathAccess(writeDir, r.Write...))
	}
	for _, port := range r.Connect {
		rules = append(rules, landlock.ConnectTCP(port))
	}
	for _, port := range r.Bind {
		rules = append(rules, landlock.BindTCP(port))
	}
	if err := landlock.V9.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("restrict files and ports: %w", err)
	}
	return nil
}

// reading is the rule for a file or directory that the program may read.
func reading(path string) (landlock.Rule, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return landlock.PathAccess(readDir, path), nil
	default:
		return landlock.PathAccess(readFile, path), nil
	}
}
