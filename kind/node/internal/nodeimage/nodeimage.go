// Package nodeimage makes the image of a kind node from Go modules and Debian
// packages, on a machine that can reach no registry.
package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/example/operator-testbed/kind/build/assets"
	"github.com/example/operator-testbed/kind/build/lock"
	"github.com/example/operator-testbed/kind/build/program"
	"github.com/example/operator-testbed/kind/build/progress"
	"github.com/example/operator-testbed/kind/node/internal/archive"
	"github.com/example/operator-testbed/kind/node/internal/docker"
	"github.com/example/operator-testbed/kind/node/internal/kindmodule"
	"github.com/example/operator-testbed/kind/node/internal/rootfs"
)

// Options say where things are, and how progress is shown.
type Options struct {
	// Kind is the repository's directory kind.
	Kind string
	// Cache is the testbed's cache directory.
	Cache string
	// Mirror is a Debian mirror, empty for Debian's own.
	Mirror string
	// Progress gets the progress, and nothing when there is nothing to do.
	Progress *os.File
}

// Command is how a user makes the image.
const Command = "make node-image"

// The steps that are shown, after the programs are built.
const (
	stepNodeSystem = 1 + iota
	stepToolsSystem
	stepBase
	stepImages
	stepNode

	steps = stepNode
)

// build is one call of Ensure.
type build struct {
	options      Options
	architecture string
	version      string // of Kubernetes
	display      *progress.Display
	// dir is where root file systems are kept, work is for unfinished files.
	dir, work string
	kind      kindmodule.Module
	programs  programs
}

// Ensure makes the image unless there is one of the same inputs, and returns its
// name.
func Ensure(ctx context.Context, o Options) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("a node image can be made on Linux only, and this is %s: kind pulls the pinned kindest/node instead, or KIND_NODE_IMAGE names another", runtime.GOOS)
	}
	b := &build{options: o, architecture: runtime.GOARCH, dir: filepath.Join(o.Cache, "node")}
	if err := docker.Check(ctx); err != nil {
		return "", err
	}
	name, err := b.name(ctx)
	if err != nil {
		return "", err
	}
	if docker.Has(ctx, name) {
		return name, nil
	}
	work, release, err := lock.Acquire(ctx, b.dir, func(holder string) {
		fmt.Fprintf(o.Progress, "wait for %s, which is making a node image\n", holder)
	})
	if err != nil {
		return "", fmt.Errorf("the cache %s can't be used: %w; TESTBED_CACHE names another directory", o.Cache, err)
	}
	defer release()
	if docker.Has(ctx, name) {
		return name, nil // made while we waited
	}
	b.work = work
	return name, b.make(ctx, name)
}

// name returns the image's name, with a tag that changes with everything it is made
// from, except the versions of Debian's packages.
func (b *build) name(ctx context.Context) (string, error) {
	// Of the toolchain, which may be another than this program's.
	toolchain, err := program.Output(ctx, "go", "env", "GOVERSION")
	if err != nil {
		return "", err
	}
	inputs := []string{strings.TrimSpace(string(toolchain)), b.architecture}
	for _, module := range []string{"build", "kubernetes", "node", filepath.Join("node", "local-path")} {
		input, err := assets.Inputs(filepath.Join(b.options.Kind, module))
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("there is no %s in %s: run this as `%s`", module, b.options.Kind, Command)
		}
		if err != nil {
			return "", err
		}
		inputs = append(inputs, input)
	}
	goMod, err := os.ReadFile(filepath.Join(b.options.Kind, "kubernetes", "go.mod"))
	if err != nil {
		return "", err
	}
	b.version, err = versionIn(string(goMod))
	return imageName(b.version, inputs), err
}

func (b *build) make(ctx context.Context, name string) error {
	if err := b.build(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.display = progress.Start(b.options.Progress, progress.Terminal(b.options.Progress), cancel)
	defer b.display.Stop()

	base, tools, err := b.systems(ctx)
	if err != nil {
		return err
	}
	baseImage := name + "-base"
	if err := b.loadBase(ctx, baseImage, base); err != nil {
		return err
	}
	defer docker.Untag(context.WithoutCancel(ctx), baseImage)
	server, err := b.pack(ctx, tools)
	if err != nil {
		return err
	}
	if err := b.onTop(ctx, server, baseImage, name); err != nil {
		return err
	}
	b.display.Say("%s is ready after %s", name, b.display.Elapsed())
	return nil
}

// build builds all programs.
func (b *build) build(ctx context.Context) error {
	for _, module := range []string{"kubernetes", "node", filepath.Join("node", "local-path")} {
		dir, err := assets.Ensure(ctx, assets.Options{
			Module:   filepath.Join(b.options.Kind, module),
			Programs: programsOf[module],
			Cache:    b.options.Cache,
			Command:  Command,
			Progress: b.options.Progress,
			Columns:  progress.Terminal(b.options.Progress),
		})
		if err != nil {
			return err
		}
		b.programs = append(b.programs, dir)
	}
	var err error
	b.kind, err = kindmodule.Find(ctx, filepath.Join(b.options.Kind, "node"))
	return err
}

// systems makes the root file systems of the node and of the images in it.
func (b *build) systems(ctx context.Context) (node, tools string, err error) {
	files := filepath.Join(b.work, "files")
	if err := b.kind.CopyFiles(files); err != nil {
		return "", "", err
	}
	nodeSystem := rootfs.Spec{
		Name: "system", Variant: "minbase", Packages: nodePackages,
		Files: files, FilesVersion: b.kind.Version, Setup: nodeSetup,
	}
	node, err = nodeSystem.Make(ctx, b.dir, b.architecture, b.options.Mirror, b.detail(stepNodeSystem, "the node's Debian packages"))
	if err != nil {
		return "", "", err
	}
	tools, err = toolsSystem.Make(ctx, b.dir, b.architecture, b.options.Mirror, b.detail(stepToolsSystem, "the images' Debian packages"))
	return node, tools, err
}

// detail starts a step, and returns a function that shows what it is doing.
func (b *build) detail(step int, doing string) func(string) {
	state := progress.State{Step: step, Steps: steps, Doing: doing}
	b.display.Step(state)
	return func(line string) {
		state.Doing = doing + ": " + line
		b.display.Update(state)
	}
}

// loadBase gives Docker the base image: the node's root file system with its
// programs on top.
func (b *build) loadBase(ctx context.Context, name, system string) error {
	b.detail(stepBase, "the base image")
	image := archive.Image{
		Name: name, Base: system,
		Env:        []string{pathVariable, "container=docker"}, // systemd looks for the second
		Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
		StopSignal: "SIGRTMIN+3", // on which systemd shuts down
	}
	for dir, names := range nodePrograms {
		for _, name := range names {
			file, err := b.programs.find(name)
			if err != nil {
				return err
			}
			image.Files = append(image.Files, archive.File{Path: dir + "/" + name, Source: file, Mode: 0o755})
		}
	}
	spec, err := b.containerSpec(ctx)
	if err != nil {
		return err
	}
	image.Files = append(image.Files, archive.File{Path: "/etc/containerd/cri-base.json", Content: spec, Mode: 0o644})
	file := filepath.Join(b.work, "base.tar")
	if err := archive.Write(file, b.architecture, []archive.Image{image}); err != nil {
		return err
	}
	defer os.Remove(file)
	return docker.Load(ctx, file)
}

// containerSpec is the specification that all containers on a node start from.
func (b *build) containerSpec(ctx context.Context) ([]byte, error) {
	ctr, err := b.programs.find("ctr")
	if err != nil {
		return nil, err
	}
	spec, err := program.Output(ctx, ctr, "oci", "spec")
	if err != nil {
		return nil, err
	}
	return adaptSpec(spec)
}

// pack packs what kind puts into a node into one file, in the layout of a
// Kubernetes release.
func (b *build) pack(ctx context.Context, tools string) (string, error) {
	b.detail(stepImages, "the images in the node")
	r := release{version: b.version, architecture: b.architecture}
	for _, name := range []string{"kubeadm", "kubelet", "kubectl"} {
		file, err := b.programs.find(name)
		if err != nil {
			return "", err
		}
		r.programs = append(r.programs, file)
	}
	ofKubeadm, err := program.Output(ctx, r.programs[0], "config", "images", "list", "--kubernetes-version="+b.version)
	if err != nil {
		return "", err
	}
	ofKind, err := b.kind.Images()
	if err != nil {
		return "", err
	}
	for _, name := range required(strings.Fields(string(ofKubeadm)), ofKind) {
		image, err := b.programs.image(name, tools)
		if err != nil {
			return "", err
		}
		r.images = append(r.images, image)
	}
	return r.pack(b.work)
}
