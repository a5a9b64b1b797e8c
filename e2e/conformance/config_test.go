package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/conformance"
)

// inDirectory writes files, and returns their directory.
func inDirectory(t *testing.T, files map[string]string) string {
	t.Helper()
	directory := t.TempDir()
	for name, content := range files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func TestReadConfig(t *testing.T) {
	g := NewWithT(t)
	directory := inDirectory(t, map[string]string{"bin/manager": "", "install.yaml": "", "v1/manager": "", "v1/install.yaml": "", "certificates.yaml": "", "images.tar": "", "samples/a.yaml": "", "secret.yaml": "", "conformance.yaml": `
executable: bin/manager
manifests: install.yaml
from: {executable: v1/manager, manifests: v1/install.yaml}
cluster: kind
load: [images.tar]
crds: [certificates.yaml]
directory: samples
args: [--leader-elect=false]
env: [COLOR=red]
samples:
- file: samples/a.yaml
  companions: [secret.yaml]
known:
- point: a restart writes nothing
  sample: samples/a.yaml
  reason: it compares nothing
  intermittent: true
`})
	config, err := conformance.ReadConfig(filepath.Join(directory, "conformance.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	in := func(file string) string { return filepath.Join(directory, file) }
	g.Expect(config.OperatorFile()).To(Equal(in("bin/manager")))
	g.Expect(config.Manifests).To(Equal(in("install.yaml")))
	g.Expect(config.From).To(Equal(conformance.Version{Executable: in("v1/manager"), Manifests: in("v1/install.yaml")}))
	g.Expect(config.CRDs).To(Equal([]string{in("certificates.yaml")}))
	g.Expect(config.Cluster).To(Equal("kind"))
	g.Expect(config.Load).To(Equal([]string{in("images.tar")}))
	g.Expect(config.Directory).To(Equal(in("samples")))
	g.Expect(config.Args).To(Equal([]string{"--leader-elect=false"}))
	g.Expect(config.Env).To(Equal([]string{"COLOR=red"}))
	g.Expect(config.Samples).To(Equal([]conformance.SampleFile{{File: in("samples/a.yaml"), Companions: []string{in("secret.yaml")}, Name: "samples/a.yaml"}}))
	g.Expect(config.Known).To(Equal([]conformance.Known{{Point: "a restart writes nothing", Sample: "samples/a.yaml", Reason: "it compares nothing", Intermittent: true}}))
	g.Expect(config.HasMapping()).To(BeFalse())
}

// An image may be a file or a reference.
func TestConfigImage(t *testing.T) {
	g := NewWithT(t)
	directory := inDirectory(t, map[string]string{
		"file.yaml": "image: layout", "archive.yaml": "image: operator.tar", "reference.yaml": "image: example.com/operator:v1", "layout/index.json": "",
	})
	for file, want := range map[string]string{
		"file.yaml": filepath.Join(directory, "layout"), "archive.yaml": filepath.Join(directory, "operator.tar"), "reference.yaml": "example.com/operator:v1",
	} {
		config, err := conformance.ReadConfig(filepath.Join(directory, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.OperatorFile()).To(Equal(want))
		content, err := os.ReadFile(filepath.Join(directory, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(directory, file), append([]byte("from: {"), append(content, '}')...), 0o600)).To(Succeed())
		config, err = conformance.ReadConfig(filepath.Join(directory, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.From.OperatorFile()).To(Equal(want), "the version before")
	}
}

// The mappings of Memcached operators are configurations, and a configuration with a mapping is read as one.
func TestConfigWithMapping(t *testing.T) {
	g := NewWithT(t)
	mapping, err := os.ReadFile("mappings/kubebuilder.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	directory := inDirectory(t, map[string]string{
		"conformance.yaml": "image: example.com/operator:v1\nmanifests: .\nknown: [{point: a changed image is put back, reason: it is not compared}]\n" + string(mapping),
		"both.yaml":        "samples: [{file: a.yaml}]\n" + string(mapping),
		"half.yaml":        "group: cache.example.com\n",
		"from.yaml":        "from: {image: example.com/operator:v0}\n" + string(mapping),
	})
	path := filepath.Join(directory, "conformance.yaml")
	config, err := conformance.ReadConfig(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.HasMapping()).To(BeTrue())
	read, err := conformance.ReadMapping(path)
	g.Expect(err).NotTo(HaveOccurred())
	want, err := conformance.ReadMapping("mappings/kubebuilder.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read).To(Equal(want))
	_, err = conformance.ReadConfig(filepath.Join(directory, "both.yaml"))
	g.Expect(err).To(MatchError(ContainSubstring("it has both samples and the fields of a mapping")))
	_, err = conformance.ReadConfig(filepath.Join(directory, "from.yaml"))
	g.Expect(err).To(MatchError(ContainSubstring("it has both from and the fields of a mapping")))
	_, err = conformance.ReadConfig(filepath.Join(directory, "half.yaml"))
	g.Expect(err).To(MatchError(ContainSubstring("it lacks version, kind, resource")))
}

func TestReadConfigRefuses(t *testing.T) {
	const known = "known: [{point: a, reason: b}]\n"
	for name, tc := range map[string]struct{ content, words string }{
		"an unknown key":              {"image: a\n\nimages: b\n", `line 3: unknown key "images": use args, `},
		"an unknown key of a sample":  {"samples:\n- file: a.yaml\n  companion: b.yaml\n", `line 3: unknown key "companion": use companions, file`},
		"an unknown key of a point":   {"known:\n- point: a\n  why: b\n", `line 3: unknown key "why": use intermittent, point, reason, sample`},
		"a key in another case":       {"Image: a\n", `line 1: unknown key "Image"`},
		"a text in place of a list":   {"args: --a\n", "line 1: args wants a list"},
		"a list in place of a text":   {"image:\n- a\n", "line 2: image wants a single value"},
		"a text in place of a sample": {"samples:\n- a.yaml\n", "line 2: an entry of samples wants keys and values"},
		"a cluster of another kind":   {"cluster: minikube\n", `cluster is "minikube": use one of embedded, kind`},
		"a text alone":                {"operator\n", "line 1: the file wants keys and values"},
		"a key twice":                 {"image: a\nimage: b\n", `line 2: the key "image" is there twice`},
		"what is not YAML":            {"image: [\n", "yaml: line"},
		"a missing file":              {"manifests: none\n", "/none"},
		"a sample without a file":     {"samples: [{companions: [a]}]\n", "one of the samples has no file"},
		"a point without a name":      {"known: [{reason: b}]\n", "entry 1 of known has no point"},
		"a point twice":               {"known: [{point: a, reason: b}, {point: a, reason: c}]\n", `the known point "a" is listed twice`},
		"the point of no sample":      {"known: [{point: a, reason: b, sample: c.yaml}]\n", `the known point "a" is about c.yaml, which is not one of the samples`},
		"a blank reason":              {"known: [{point: a, reason: ' '}]\n", `the known point "a" has no reason`},
		"two versions before":         {"from: {executable: a, image: b}\n", "from has both executable and image"},
		"a version without operator":  {"from: {manifests: a}\n", "from has manifests, but no operator"},
		"an unknown key of a version": {"from:\n  binary: a\n", `line 2: unknown key "binary": use executable, image, manifests`},
		"a missing version before":    {"from: {executable: none}\n", "/none"},
		"an empty file":               {"", ""},
		"only known points":           {known, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(inDirectory(t, map[string]string{"conformance.yaml": tc.content}), "conformance.yaml")
			_, err := conformance.ReadConfig(path)
			if g := NewWithT(t); tc.words == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(And(HavePrefix("read the configuration "+path+": "), ContainSubstring(tc.words))))
			}
		})
	}
}
