// Package release describes the sites from which projects offer their programs
// for download: which programs there are, for which platforms, under which addresses,
// and where their SHA-256 sums are. It only knows addresses; package download gets
// what is there.
package release

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/example/operator-testbed/kind/build/internal/recipe"
)

// Site is where a project offers the programs of one of its modules.
type Site struct {
	// Name is the host, which identifies the site.
	Name string
	// module is the one whose version is that of the release.
	module string
	// programs are the names of those that are there, and platforms what for.
	programs, platforms []string
	// file, sums and member are patterns: the address of a program, or of a gzipped
	// tar archive that has the program as a member; and the address of a file with
	// its SHA-256 sum. They may hold {version}, {os}, {arch} and {program}.
	file, sums, member string
}

// Both projects cross-compile everything for these.
var linux = []string{"linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x"}

// The addresses are documented at
// https://kubernetes.io/releases/download/#binaries and
// https://github.com/etcd-io/etcd/releases, and kwok's package pkg/config composes the
// same ones. kwok publishes no sums, so it is not here.
var sites = []Site{
	{
		Name:      "dl.k8s.io",
		module:    "k8s.io/kubernetes",
		programs:  []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"},
		platforms: linux,
		file:      "https://dl.k8s.io/release/{version}/bin/{os}/{arch}/{program}",
		sums:      "https://dl.k8s.io/release/{version}/bin/{os}/{arch}/{program}.sha256",
	},
	{
		Name:      "github.com/etcd-io/etcd",
		module:    "go.etcd.io/etcd/server/v3",
		programs:  []string{"etcd"},
		platforms: linux,
		file:      "https://github.com/etcd-io/etcd/releases/download/{version}/etcd-{version}-{os}-{arch}.tar.gz",
		sums:      "https://github.com/etcd-io/etcd/releases/download/{version}/SHA256SUMS",
		member:    "etcd-{version}-{os}-{arch}/etcd",
	},
}

// File is a program that a site offers.
type File struct {
	// Site is the name of the site, and Program that of the program.
	Site, Program string
	// Address and Sums are where the file and its sum are.
	Address, Sums string
	// Member is the program's name in the archive at Address; empty means that
	// the file is the program.
	Member string
}

// Files are those of the programs that sites offer for a platform, in the versions
// of the module's go.mod.
func Files(programs []recipe.Program, system, arch string) []File {
	var files []File
	for _, p := range programs {
		for _, s := range sites {
			offers := strings.HasPrefix(p.Package+"/", s.module+"/") && slices.Contains(s.programs, p.Name)
			if !offers || !slices.Contains(s.platforms, system+"/"+arch) {
				continue
			}
			values := strings.NewReplacer("{version}", p.Version, "{os}", system, "{arch}", arch, "{program}", p.Name)
			files = append(files, File{
				Site: s.Name, Program: p.Name,
				Address: values.Replace(s.file), Sums: values.Replace(s.sums), Member: values.Replace(s.member),
			})
		}
	}
	return files
}

// Inputs are the facts that the program's bytes depend on. They do not name a
// mirror, because it has the same files.
func (f File) Inputs() []string {
	return []string{strings.TrimSpace(fmt.Sprintf("download %s from %s %s", f.Program, f.Address, f.Member))}
}

// On is the address on a mirror, which has each file below its base address under the
// original address without https://. Without a mirror it is the original address.
func On(mirror, address string) string {
	if mirror == "" {
		return address
	}
	return strings.TrimSuffix(mirror, "/") + "/" + strings.TrimPrefix(address, "https://")
}

// CheckMirror returns an error if a text is not the base address of a mirror.
func CheckMirror(mirror string) error {
	u, err := url.Parse(mirror)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is not the address of a mirror: use one such as https://mirror.example.com/kubernetes", mirror)
	}
	return nil
}

// Sum finds the sum of a file in the text of a file of sums, which holds either
// nothing but one sum, or lines of a sum and a name.
func Sum(text, address string) (string, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		sum, name, named := strings.Cut(strings.TrimSpace(line), " ")
		if !isSum(sum) || !named && len(lines) > 1 {
			continue
		}
		// A star before the name says that the file was read as a binary one.
		if !named || strings.TrimPrefix(strings.TrimSpace(name), "*") == path.Base(address) {
			return strings.ToLower(sum), nil
		}
	}
	return "", fmt.Errorf("there is no SHA-256 sum of %s", path.Base(address))
}

func isSum(text string) bool {
	return len(text) == 64 && strings.Trim(strings.ToLower(text), "0123456789abcdef") == ""
}
