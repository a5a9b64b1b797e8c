package image

import (
	"archive/tar"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Program is what an image runs, extracted from the image.
type Program struct {
	// Path is the executable.
	Path string
	// Args come before those of the pod.
	Args []string
	// Env comes before that of the pod.
	Env []string
}

// Program writes the program that the image runs to a directory. As with a kubelet, a pod's command replaces the image's
// entrypoint, and its command or its arguments replace those of the image.
func (i Image) Program(ctx context.Context, directory string, command, args []string) (Program, error) {
	file, err := i.image.ConfigFile()
	if err != nil {
		return Program{}, fmt.Errorf("read the image %s: %w", i.source, err)
	}
	line := commandLine(file.Config, command, len(args) > 0)
	if len(line) == 0 {
		return Program{}, fmt.Errorf("the image %s names no program to run: give it an ENTRYPOINT", i.source)
	}
	found, err := i.find(ctx, line[0], file.Config)
	if err != nil {
		return Program{}, fmt.Errorf("read the layers of the image %s: %w", i.source, err)
	}
	if found == "" {
		return Program{}, fmt.Errorf("the image %s has no file %s, which it is to run", i.source, line[0])
	}
	program := Program{Path: filepath.Join(directory, path.Base(found)), Args: line[1:], Env: file.Config.Env}
	if err := i.extract(ctx, found, program.Path); err != nil {
		return Program{}, fmt.Errorf("extract %s from the image %s: %w", found, i.source, err)
	}
	executable, err := elf.Open(program.Path)
	if err != nil {
		return Program{}, fmt.Errorf("%s of the image %s is not an executable of Linux, perhaps a script, and only an executable can run without its image (%w): make the operator itself the image's entrypoint", found, i.source, err)
	}
	defer executable.Close()
	if why := unfit(executable, runtime.GOOS, runtime.GOARCH); why != "" {
		return Program{}, fmt.Errorf("%s of the image %s %s", found, i.source, why)
	}
	return program, nil
}

// commandLine is what a container runs before the arguments of its pod, if that has any.
func commandLine(config v1.Config, command []string, hasArgs bool) []string {
	switch {
	case len(command) > 0:
		return command
	case hasArgs:
		return config.Entrypoint
	default:
		return slices.Concat(config.Entrypoint, config.Cmd)
	}
}

// find returns the path, in the image, of the file that a program's name leads to, or "" if there is none.
func (i Image) find(ctx context.Context, program string, config v1.Config) (string, error) {
	all := files{}
	err := i.walk(ctx, func(name string, header *tar.Header, _ io.Reader) error {
		if header.Typeflag == tar.TypeLink { // a hard link, whose target starts at the root
			header.Typeflag, header.Linkname = tar.TypeSymlink, path.Join("/", header.Linkname)
		}
		all[name] = header
		return nil
	})
	for _, place := range places(program, config) {
		file, err := securejoin.SecureJoinVFS("", place, all) // fails if links lead in circles
		if header, ok := all[file]; err == nil && ok && header.Typeflag == tar.TypeReg {
			return file, nil
		}
	}
	return "", err
}

// files are the entries of an image by their absolute paths: a file system in which securejoin follows links.
type files map[string]*tar.Header

// Lstat describes a file or a link.
func (f files) Lstat(name string) (fs.FileInfo, error) {
	if header, ok := f[path.Clean(name)]; ok {
		return header.FileInfo(), nil
	}
	return nil, fs.ErrNotExist
}

// Readlink returns the target of a link.
func (f files) Readlink(name string) (string, error) { return f[path.Clean(name)].Linkname, nil }

// places are the paths at which a program of that name may be.
func places(program string, config v1.Config) []string {
	if strings.Contains(program, "/") {
		if path.IsAbs(program) {
			return []string{program}
		}
		return []string{path.Join(config.WorkingDir, program)}
	}
	var found []string
	for _, variable := range config.Env {
		if directories, ok := strings.CutPrefix(variable, "PATH="); ok {
			for directory := range strings.SplitSeq(directories, ":") {
				found = append(found, path.Join(directory, program))
			}
		}
	}
	return found
}

// extract writes a file of the image.
func (i Image) extract(ctx context.Context, file, to string) error {
	executable, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	err = i.walk(ctx, func(name string, _ *tar.Header, content io.Reader) error {
		if name != file {
			return nil
		}
		_, err := io.Copy(executable, content)
		return cmp.Or(err, fs.SkipAll)
	})
	return errors.Join(err, executable.Close())
}

// walk calls visit with each file of the image, under its absolute path, until it returns fs.SkipAll.
func (i Image) walk(ctx context.Context, visit func(name string, header *tar.Header, content io.Reader) error) error {
	layers := mutate.Extract(i.image)
	defer layers.Close()
	for entries := tar.NewReader(layers); ; {
		header, err := entries.Next()
		if err == nil {
			err = cmp.Or(context.Cause(ctx), visit(path.Join("/", header.Name), header, entries))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.SkipAll) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// machines are the architectures of Linux, by Go's names for them.
var machines = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm",
	elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x", elf.EM_RISCV: "riscv64", elf.EM_LOONGARCH: "loong64",
}

// CheckProgram returns an error if an executable can't run on this machine.
func CheckProgram(file string) error {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer content.Close()
	start := make([]byte, 4)
	if _, err := io.ReadFull(content, start); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	if string(start[:2]) == "#!" {
		return nil // its interpreter decides
	}
	executable, err := elf.NewFile(content)
	switch {
	case err != nil && runtime.GOOS == "linux":
		return fmt.Errorf("%s is not an executable of Linux: give the executable that the operator is compiled to", file)
	case err != nil:
		return nil // the system says what is wrong with it, if anything
	}
	if why := foreign(executable, runtime.GOOS, runtime.GOARCH); why != "" {
		return fmt.Errorf("%s %s", file, why)
	}
	return nil
}

// foreign says why an executable is not for a machine, or "" if it is.
func foreign(file *elf.File, goos, goarch string) string {
	architecture := cmp.Or(machines[file.Machine], file.Machine.String())
	if goos == "linux" && architecture == goarch {
		return ""
	}
	return fmt.Sprintf("is for linux/%s, and this machine is %s/%s: build it for this machine's platform, or run this on a machine of that platform",
		architecture, goos, goarch)
}

// unfit says why an executable can't run on a machine without its image, or "" if it can.
func unfit(file *elf.File, goos, goarch string) string {
	if why := foreign(file, goos, goarch); why != "" {
		return why
	}
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return "is linked to libraries of its image, which are missing here: build it static, with CGO_ENABLED=0"
	}
	return ""
}
