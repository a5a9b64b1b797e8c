package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// elsewhere is a platform that no test runs on.
const elsewhere = "plan9/arm"

// packed writes a bundle that holds a program and a module, and the same program for elsewhere, and returns its path.
func packed(t *testing.T, contents label) string {
	t.Helper()
	from := t.TempDir()
	write1 := func(name, text string) string {
		path := filepath.Join(from, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bundle := filepath.Join(from, "bundle.tar.gz")
	_, err := write(t.Context(), bundle, contents, []file{
		{name: clusterOf(here) + "assets/1/etcd", source: write1("etcd", strings.Repeat("a program ", 10_000))},
		{name: clusterOf(elsewhere) + "assets/2/etcd", source: write1("etcd-2", strings.Repeat("another program ", 10_000))},
		{name: modulesDir + "example.com/m/@v/v1.0.0.mod", source: write1("mod", "module example.com/m")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

// forBoth is the label of a bundle for this machine and others elsewhere.
func forBoth(t *testing.T) label {
	t.Helper()
	l, err := labelOf(t.Context(), here, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// caches are the directories that unpack fills: the testbed's and Go's.
func caches(t *testing.T) (testbed, modules string) {
	t.Helper()
	testbed, modules = t.TempDir(), t.TempDir()
	t.Setenv("TESTBED_CACHE", testbed)
	t.Setenv("GOMODCACHE", modules)
	return testbed, modules
}

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	testbed, modules := caches(t)
	bundle := packed(t, forBoth(t))
	there := filepath.Join(modules, "cache", "download", "example.com", "m", "@v", "v1.0.0.mod")
	for range 2 { // the second time there is nothing to do
		if err := unpack(t.Context(), bundle); err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile(filepath.Join(testbed, "kubernetes", "assets", "1", "etcd"))
		if err != nil || !strings.HasPrefix(string(program), "a program") {
			t.Fatalf("the program is %.20q, %v", program, err)
		}
		if module, err := os.ReadFile(there); err != nil || string(module) != "module example.com/m" {
			t.Fatalf("the module's file is %q, %v", module, err)
		}
	}
	onlyDirectory(t, testbed, "kubernetes")
	onlyDirectory(t, filepath.Join(testbed, "kubernetes", "assets"), "1")
}

// The site is where the tutorial looks for it, and complete when its key is there.
func TestSiteIsUnpacked(t *testing.T) {
	testbed, _ := caches(t)
	made := t.TempDir()
	for name, text := range map[string]string{"index.html": "home", "docs/index.html": "docs", ".hidden": "", keyFile: "0123abcd"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(made, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(made, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := sites(made)
	if err != nil || len(files) != 4 || files[3].name != "site/0123abcd/.key" {
		t.Fatalf("the files are %v, %v: expected four, and the key as the last one", files, err)
	}
	bundle := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if _, err := write(t.Context(), bundle, forBoth(t), files); err != nil {
		t.Fatal(err)
	}
	if err := unpack(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	if page, err := os.ReadFile(filepath.Join(testbed, "site", "0123abcd", "docs", "index.html")); err != nil || string(page) != "docs" {
		t.Errorf("the page is %q, %v", page, err)
	}
	if _, err := sites(made, t.TempDir()); err == nil || !strings.Contains(err.Error(), "make bundle makes the site first") {
		t.Errorf("without a site: %v", err)
	}
}

// Images are for the processor that Docker packed them on, and are left where they would not run.
func TestImagesForOthersAreLeft(t *testing.T) {
	caches(t)
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock") // nothing asks for it
	contents := forBoth(t)
	contents.Images, contents.ImagesArch = []string{"an/image"}, "arm"
	if err := unpack(t.Context(), packed(t, contents)); err != nil {
		t.Error(err)
	}
}

// Docker gets the images, and what is left without them is there all the same.
func TestImagesAreLoaded(t *testing.T) {
	for name, script := range map[string]string{"loaded": "cat >\"$0.got\"", "without Docker": "echo 'Cannot connect' >&2; exit 1"} {
		t.Run(name, func(t *testing.T) {
			testbed, _ := caches(t)
			bin := t.TempDir()
			docker := filepath.Join(bin, "docker")
			if err := os.WriteFile(docker, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			contents := forBoth(t)
			contents.Images, contents.ImagesArch = []string{"an/image"}, runtime.GOARCH
			source := filepath.Join(bin, "source")
			if err := os.WriteFile(source, []byte("content"), 0o644); err != nil {
				t.Fatal(err)
			}
			bundle := filepath.Join(bin, "bundle.tar.gz")
			files := []file{{name: imagesName, source: source}, {name: clusterOf(here) + "assets/1/etcd", source: source}}
			if _, err := write(t.Context(), bundle, contents, files); err != nil {
				t.Fatal(err)
			}
			err := unpack(t.Context(), bundle)
			if got, _ := os.ReadFile(docker + ".got"); name == "loaded" && (err != nil || string(got) != "content") {
				t.Errorf("Docker got %q, %v", got, err)
			}
			if name != "loaded" && (err == nil || !strings.Contains(err.Error(), "the images are left out: docker load: exit status 1: Cannot connect; start Docker")) {
				t.Errorf("unpack says %v", err)
			}
			if _, err := os.Stat(filepath.Join(testbed, "kubernetes", "assets", "1", "etcd")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPlatforms(t *testing.T) {
	for asked, want := range map[string]string{
		"":                                     here,
		"linux/arm64":                          "linux/arm64",
		"linux/amd64 darwin/arm64,linux/amd64": "darwin/arm64 linux/amd64",
		"linux/amd64 linux/arm65":              "PLATFORMS has linux/arm65, where no embedded cluster runs",
		"windows/amd64":                        "PLATFORMS has windows/amd64, where no embedded cluster runs",
		"linux":                                "PLATFORMS has linux, where no embedded cluster runs",
	} {
		got, err := platformsIn(asked)
		said := strings.Join(got, " ")
		if err != nil {
			said = err.Error()
		}
		if !strings.HasPrefix(said, want) {
			t.Errorf("PLATFORMS=%q: %s, expected %s", asked, said, want)
		}
	}
}

func TestReason(t *testing.T) {
	for printed, want := range map[string]string{
		"compile\nkubernetes: the disk is full\nexit status 1\n": "kubernetes: the disk is full",
		"exit status 1": "exit status 1",
	} {
		if got := reasonIn(printed); got != want {
			t.Errorf("%q fails because of %q, expected %q", printed, got, want)
		}
	}
}

func TestWhatIsThereIsLeftAlone(t *testing.T) {
	_, modules := caches(t)
	there := filepath.Join(modules, "cache", "download", "example.com", "m", "@v", "v1.0.0.mod")
	if err := os.MkdirAll(filepath.Dir(there), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unpack(t.Context(), packed(t, forBoth(t))); err != nil {
		t.Fatal(err)
	}
	if module, err := os.ReadFile(there); err != nil || string(module) != "mine" {
		t.Errorf("the module's file is %q, %v", module, err)
	}
}

func TestUnfitBundlesAreRefusedAndLeaveNothing(t *testing.T) {
	other := func(change func(*label)) label {
		l := forBoth(t)
		change(&l)
		return l
	}
	damage := func(change func([]byte) []byte) func(*testing.T) string {
		return func(t *testing.T) string {
			bundle := packed(t, forBoth(t))
			data, err := os.ReadFile(bundle)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(bundle, change(data), 0o644); err != nil {
				t.Fatal(err)
			}
			return bundle
		}
	}
	for name, test := range map[string]struct {
		bundle func(*testing.T) string
		says   string
	}{
		"no such file":             {func(*testing.T) string { return "no-such-file" }, "no such file"},
		"no bundle":                {damage(func([]byte) []byte { return []byte("hello") }), "it is not a bundle"},
		"cut short":                {damage(func(data []byte) []byte { return data[:len(data)*2/3] }), "not what was packed"},
		"a bit of the sum flipped": {damage(func(data []byte) []byte { data[len(data)-8] ^= 1; return data }), "not what was packed"},
		"a byte flipped":           {damage(func(data []byte) []byte { data[len(data)/2] ^= 0xff; return data }), "not what was packed"}, // a bit may be mere padding
		"another processor": {func(t *testing.T) string {
			return packed(t, other(func(l *label) { l.Platforms = []string{elsewhere} }))
		}, "is for plan9/arm and this machine is "},
		"another Go":         {func(t *testing.T) string { return packed(t, other(func(l *label) { l.Go = "go1.25" })) }, "install the same"},
		"of another version": {func(t *testing.T) string { return packed(t, other(func(l *label) { l.Format++ })) }, "format"},
	} {
		t.Run(name, func(t *testing.T) {
			testbed, modules := caches(t)
			err := unpack(t.Context(), test.bundle(t))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("unpack says %v, expected %q", err, test.says)
			}
			onlyDirectory(t, testbed)
			onlyDirectory(t, modules)
		})
	}
}

// TestNothingLeadsOut has a bundle whose names leave its directory.
func TestNothingLeadsOut(t *testing.T) {
	caches(t)
	from := t.TempDir()
	source := filepath.Join(from, "x")
	if err := os.WriteFile(source, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(from, "bundle.tar.gz")
	if _, err := write(t.Context(), bundle, forBoth(t), []file{{name: modulesDir + "../../outside", source: source}}); err != nil {
		t.Fatal(err)
	}
	if err := unpack(t.Context(), bundle); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("unpack says %v", err)
	}
}

// onlyDirectory fails the test if a directory holds anything but the names.
func onlyDirectory(t *testing.T, directory string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	if strings.Join(found, " ") != strings.Join(names, " ") {
		t.Errorf("%s holds %q, expected %q", directory, found, names)
	}
}
