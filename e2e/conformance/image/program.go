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

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Program is what an image runs, out of the image.
type Program struct {
	// Path is the executable.
	Path string
	// Args come before those that the pod gives.
	Args []string
	// Env comes before what the pod gives.
	Env []string
}

// Program writes the program that the image runs to a folder. As for a kubelet, a pod's command replaces the image's entrypoint,
// and its command or its arguments replace those of the image.
func (i Image) Program(ctx context.Context, folder string, command, args []string) (Program, error) {
	file, err := i.image.ConfigFile()
	if err != nil {
		return Program{}, fmt.Errorf("reading the image %s: %w", i.source, err)
	}
	line := commandLine(file.Config, command, len(args) > 0)
	if len(line) == 0 {
		return Program{}, fmt.Errorf("the image %s says of no program that it is to be run: give it an ENTRYPOINT", i.source)
	}
	found, err := i.find(ctx, line[0], file.Config)
	if err != nil {
		return Program{}, err
	}
	program := Program{Path: filepath.Join(folder, path.Base(found)), Args: line[1:], Env: file.Config.Env}
	if err := i.take(ctx, found, program.Path); err != nil {
		return Program{}, err
	}
	if why, err := unfit(program.Path); err != nil || why != "" {
		if err != nil {
			return Program{}, fmt.Errorf("reading %s of the image %s: %w", found, i.source, err)
		}
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

// find returns the path, in the image, of the file that a program's name leads to.
func (i Image) find(ctx context.Context, program string, config v1.Config) (string, error) {
	regular, links := map[string]bool{}, map[string]string{}
	err := walk(ctx, mutate.Extract(i.image), func(name string, header *tar.Header, _ io.Reader) error {
		switch header.Typeflag {
		case tar.TypeReg:
			regular[name] = true
		case tar.TypeSymlink:
			links[name] = header.Linkname
		case tar.TypeLink:
			links[name] = path.Join("/", header.Linkname)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("reading the layers of the image %s: %w", i.source, err)
	}
	for _, place := range places(program, config) {
		if file := resolve(links, place); regular[file] {
			return file, nil
		}
	}
	return "", fmt.Errorf("the image %s has no file %s, which it is to run", i.source, program)
}

// places are the paths at which a program of that name may be.
func places(program string, config v1.Config) []string {
	if strings.Contains(program, "/") {
		if path.IsAbs(program) {
			return []string{path.Clean(program)}
		}
		return []string{path.Join("/", config.WorkingDir, program)}
	}
	var found []string
	for _, variable := range config.Env {
		if folders, ok := strings.CutPrefix(variable, "PATH="); ok {
			for folder := range strings.SplitSeq(folders, ":") {
				found = append(found, path.Join("/", folder, program))
			}
		}
	}
	return found
}

// maxLinks is how many links a path may lead through, as on Linux.
const maxLinks = 40

// resolve follows the links in a path, those to folders too. It returns an empty string if they lead round in circles.
func resolve(links map[string]string, file string) string {
	done, rest := "/", strings.Split(strings.TrimPrefix(file, "/"), "/")
	for followed := 0; len(rest) > 0; {
		next := path.Join(done, rest[0])
		target, isLink := links[next]
		if !isLink {
			done, rest = next, rest[1:]
			continue
		}
		if followed++; followed > maxLinks {
			return ""
		}
		if !path.IsAbs(target) {
			target = path.Join(done, target)
		}
		done, rest = "/", append(strings.Split(strings.TrimPrefix(path.Clean(target), "/"), "/"), rest[1:]...)
	}
	return done
}

// take writes a file of the image.
func (i Image) take(ctx context.Context, file, to string) error {
	executable, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	err = walk(ctx, mutate.Extract(i.image), func(name string, _ *tar.Header, content io.Reader) error {
		if name != file {
			return nil
		}
		_, err := io.Copy(executable, content)
		return cmp.Or(err, fs.SkipAll)
	})
	return errors.Join(err, executable.Close())
}

// machines are the architectures of Linux, as Go calls them.
var machines = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_386: "386", elf.EM_ARM: "arm",
	elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x", elf.EM_RISCV: "riscv64", elf.EM_LOONGARCH: "loong64",
}

// unfit says why a program can't run here without its image, or "" if it can.
func unfit(program string) (string, error) {
	file, err := elf.Open(program)
	if _, malformed := errors.AsType[*elf.FormatError](err); malformed || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "is no executable of Linux, perhaps a script, and without its image only an executable can run: " +
			"let the image's entrypoint be the operator itself", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	return unfitFor(file, runtime.GOOS, runtime.GOARCH), nil
}

func unfitFor(file *elf.File, goos, goarch string) string {
	architecture, known := machines[file.Machine]
	if !known {
		architecture = file.Machine.String()
	}
	if goos != "linux" || architecture != goarch {
		return fmt.Sprintf("is for linux/%s, and this machine is %s/%s: build it for a machine like this one, or run on one like that",
			architecture, goos, goarch)
	}
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return "is linked to libraries of its image, which are not here: build it static, with CGO_ENABLED=0"
	}
	return ""
}
