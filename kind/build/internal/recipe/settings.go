// Package recipe decides what is built and from what: which programs the
// module's tool lines name, with which flags and version stamps, and the keys
// that say whether a program that was built before is still the right one.
package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// BuildFlags are the flags of every program. -trimpath keeps the builder's
// folders out of the result, so that two machines build the same bytes.
var BuildFlags = []string{"-trimpath", "-buildvcs=false"}

// linkFlags leave out the symbol table and the debug information: a fifth of
// the size, and nobody debugs the control plane here.
const linkFlags = "-s -w"

// Settings are the parts of the go command's environment that change what it
// builds, and the folders it builds with.
type Settings struct {
	GoVersion  string `json:"GOVERSION"`
	OS         string `json:"GOOS"`
	Arch       string `json:"GOARCH"`
	AMD64      string `json:"GOAMD64"`
	ARM64      string `json:"GOARM64"`
	Experiment string `json:"GOEXPERIMENT"`
	FIPS140    string `json:"GOFIPS140"`
	CGO        string `json:"CGO_ENABLED"`

	// BuildCache and ModuleCache are where compiled packages and downloaded
	// modules are kept, Proxy is where modules come from. They change nothing
	// about the result.
	BuildCache  string `json:"GOCACHE"`
	ModuleCache string `json:"GOMODCACHE"`
	Proxy       string `json:"GOPROXY"`
}

// SettingNames are the go command's names of all Settings, as arguments for
// `go env -json`.
var SettingNames = []string{
	"GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFIPS140", "CGO_ENABLED", "GOCACHE", "GOMODCACHE", "GOPROXY",
}

// ParseSettings reads what `go env -json` prints for SettingNames.
func ParseSettings(output []byte) (Settings, error) {
	var s Settings
	if err := json.Unmarshal(output, &s); err != nil {
		return Settings{}, fmt.Errorf("reading the output of go env: %w", err)
	}
	return s, nil
}

// Platform is the operating system and architecture, as in linux/amd64.
func (s Settings) Platform() string { return s.OS + "/" + s.Arch }

// lines are the settings that a key depends on.
func (s Settings) lines() []string {
	return []string{
		"go " + s.GoVersion,
		"platform " + s.Platform(),
		"GOAMD64=" + s.AMD64,
		"GOARM64=" + s.ARM64,
		"GOEXPERIMENT=" + s.Experiment,
		"GOFIPS140=" + s.FIPS140,
		"CGO_ENABLED=" + s.CGO,
	}
}

// Plan is what is to be built, before a look at the module graph.
type Plan struct {
	// GoMod and GoSum are these files' contents.
	GoMod, GoSum []byte
	// Own stands for the Sources of the module itself, when it has own tools.
	Own []byte
	// Programs are the wanted programs' names, none for all.
	Programs []string
}

// PlanKey names the whole set of programs. It needs no look at the module
// graph: with the same go.mod, go.sum, toolchain and recipe the graph is the
// same. It changes more often than any Program's key, which costs a `go list`.
func PlanKey(plan Plan, s Settings) string {
	lines := s.lines()
	lines = append(lines, "go.mod "+digest(plan.GoMod), "go.sum "+digest(plan.GoSum), "own "+digest(plan.Own), "link "+linkFlags)
	for _, name := range slices.Sorted(slices.Values(plan.Programs)) {
		lines = append(lines, "program "+name)
	}
	for _, flag := range BuildFlags {
		lines = append(lines, "build "+flag)
	}
	for _, stamp := range stamps {
		lines = append(lines, "stamp "+stamp.module+" "+stamp.variable+"="+stamp.value)
	}
	for _, tool := range slices.Sorted(maps.Keys(names)) {
		lines = append(lines, "name "+tool+"="+names[tool])
	}
	return key(lines)
}

// key is the short name of a list of facts: 80 bits of their digest.
func key(facts []string) string {
	h := sha256.New()
	for _, fact := range facts {
		// A length before each fact: no two lists read the same.
		fmt.Fprintf(h, "%d %s\n", len(fact), fact)
	}
	return hex.EncodeToString(h.Sum(nil))[:20]
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
