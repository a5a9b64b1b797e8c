// Package doctor finds out what a machine lacks to run the testbed, and names
// the command that fixes it.
//
// [Gather] only looks at the machine; [Examine] only checks the facts, so every verdict has a table test; [Report] writes the
// findings for a person.
package doctor

import "time"

// Facts are what was seen on a machine. The zero value of a figure means that
// this machine does not report it.
type Facts struct {
	// PackageManager is the first known one on PATH (apt-get, dnf, macOS's xcode-select, ...), or "".
	PackageManager string

	Go, Make, Git Tool
	// GoSettings are the user's settings for the Go command that the testbed replaces.
	GoSettings []GoSetting

	// MemoryAvailable is in bytes: what programs can still get without swapping;
	// on macOS all there is.
	MemoryAvailable uint64
	// OpenFiles is the hard limit of open files for one process. The soft one
	// does not matter: Go programs raise it themselves.
	OpenFiles uint64
	// InotifyInstances and InotifyWatches are Linux's limits for one user.
	InotifyInstances, InotifyWatches uint64
	// Loopback is why a connection over 127.0.0.1 failed, or nil.
	Loopback error
	// Localhost are the addresses that the name localhost stands for.
	Localhost []string

	// KubernetesBuilt says that the cache holds Kubernetes already.
	KubernetesBuilt bool
	// KubernetesFrom is where it was downloaded from, a host, or "" if it was compiled.
	KubernetesFrom string
	// Cache, State, Temp, GoBuild and GoModules are the directories that fill up.
	Cache, State, Temp, GoBuild, GoModules Directory

	// SDK is why the programs that `make sdk` builds can't be used, or nil. Ansible is why ansible-operator can't run a role.
	SDK, Ansible error

	// Engine is nil if there is none that answers.
	Engine *Engine

	// Proxy is nil unless the caller asked for the network to be tried.
	Proxy *Proxy
}

// Tool is a program on PATH.
type Tool struct {
	// Path is empty when the program is not on PATH.
	Path string
	// Version is what the program says of itself, one line.
	Version string
}

// GoSetting is a setting for the Go command that could keep it from building what is here.
type GoSetting struct {
	// Name is that of the variable, and Value its value.
	Name, Value string
	// Written says that `go env -w` has written it. Else it is in the environment, or it is GOWORK for a go.work that was found.
	Written bool
}

// Directory is a directory, or where it will be made.
type Directory struct {
	Path string
	// Free is in bytes.
	Free     uint64
	Writable bool
	// Missing says that it is not there yet.
	Missing bool
}

// Proxy is the Go module proxy.
type Proxy struct {
	// Setting is GOPROXY.
	Setting string
	// URL is what was asked for; empty when the setting names no proxy.
	URL  string
	Took time.Duration
	// Err is why there was no answer, or nil.
	Err error
}
