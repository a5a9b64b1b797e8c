package recipe

import (
	"fmt"
	"strings"
)

// stamp is a variable that the linker sets in every program of a module, so
// that the program reports the version it was built from. A build inside the
// project's own repository sets the same variables; a build from the module
// cache knows no git.
type stamp struct {
	// module is the one that the program's main package is in.
	module string
	// variable is the import path and the name of a string variable.
	variable string
	// value may hold {version}, {major} and {minor} of the module.
	value string
}

var stamps = []stamp{
	// What `kubectl version` and the API server's /version say.
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitVersion", "{version}"},
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitMajor", "{major}"},
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitMinor", "{minor}"},
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitTreeState", "clean"},
	{"k8s.io/kubernetes", "k8s.io/component-base/version.gitCommit", ""},
	// What clients put into their User-Agent, which the audit log repeats.
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitVersion", "{version}"},
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitMajor", "{major}"},
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitMinor", "{minor}"},
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitTreeState", "clean"},
	{"k8s.io/kubernetes", "k8s.io/client-go/pkg/version.gitCommit", ""},

	// What a node reports as its containerRuntimeVersion.
	{"github.com/containerd/containerd/v2", "github.com/containerd/containerd/v2/version.Version", "{version}"},
	{"github.com/containerd/containerd/v2", "github.com/containerd/containerd/v2/version.Revision", ""},

	{"sigs.k8s.io/cri-tools", "sigs.k8s.io/cri-tools/pkg/version.Version", "{version}"},

	{"sigs.k8s.io/kwok", "sigs.k8s.io/kwok/pkg/consts.Version", "{version}"},
	{"sigs.k8s.io/kwok", "k8s.io/client-go/pkg/version.gitVersion", "{version}"},
	{"sigs.k8s.io/kwok", "k8s.io/client-go/pkg/version.gitCommit", ""},
}

// ldflags are the linker's flags for a program of a module at a version.
func ldflags(module, version string) string {
	major, minor := majorMinor(version)
	values := strings.NewReplacer("{version}", version, "{major}", major, "{minor}", minor)
	var b strings.Builder
	b.WriteString(linkFlags)
	for _, s := range stamps {
		if s.module == module {
			fmt.Fprintf(&b, " -X %s=%s", s.variable, values.Replace(s.value))
		}
	}
	return b.String()
}

// majorMinor splits v1.37.0, or v1.38.0-rc.1.
func majorMinor(version string) (major, minor string) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return "", ""
	}
	return parts[0], parts[1]
}
