package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/confinement"
	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
)

// What is said about the confinement is how the suite is run.
func TestConfined(t *testing.T) {
	g := NewWithT(t)
	value, note, err := confined(false, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(value).To(Equal(`{"optional":true,"declaredPorts":true}`))
	if _, err := confinement.Supported(); err != nil {
		g.Expect(note).To(HavePrefix("the operator runs UNCONFINED, with all your permissions: "))
	} else {
		g.Expect(note).To(MatchRegexp(`^the operator runs confined by landlock\d+\+seccomp: `))
	}
	value, _, err = confined(false, "/project")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(value).To(Equal(`{"optional":true,"declaredPorts":true,"directory":"/project"}`))
	value, note, err = confined(true, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(value).To(Equal("no"))
	g.Expect(note).To(HavePrefix("the operator runs unconfined, with all your permissions, "))
}

func TestChosenPoints(t *testing.T) {
	g := NewWithT(t)
	all := conformance.Checks{Operator: conformance.Mapping{}}.Points()
	g.Expect(chosenPoints(all, nil, false)).To(HaveLen(len(all)))
	chosen, err := chosenPoints(all, []string{"the Deployment has the size, up and down"}, false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chosen).To(HaveExactElements(HaveField("Claim", "the Deployment has the size, up and down")))
	g.Expect(pattern(chosen)).To(Equal("^TestPoints$/^(gate|points|last)$/^(one_object_is_served|the_Deployment_has_the_size,_up_and_down)$"))
	_, err = chosenPoints(all, []string{"the size"}, true)
	g.Expect(err).To(MatchError(ContainSubstring(`there is no point "the size": use a claim from the table`)))
}

// Points that take long are left out, unless all are asked for, or one of them is.
func TestSlowPoints(t *testing.T) {
	g := NewWithT(t)
	points := []conformance.Point{{Claim: "fast"}, {Claim: "slow", Slow: true}}
	g.Expect(chosenPoints(points, nil, false)).To(HaveExactElements(HaveField("Claim", "fast")))
	g.Expect(chosenPoints(points, nil, true)).To(HaveLen(2))
	g.Expect(chosenPoints(points, []string{"slow"}, false)).To(HaveExactElements(HaveField("Claim", "slow")))
	g.Expect(points).To(HaveLen(2))
}

// The file in the working directory is read, and flags prevail over it.
func TestFlagsPrevail(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"conformance.yaml": "executable: manager\nmanifests: install.yaml\ncrds: [crds.yaml]\nargs: [--a]\nenv: [A=1]\nfrom: {image: example.com/operator:v1}\n" +
			"samples: [{file: one.yaml, companions: [secret.yaml]}, {file: two.yaml}]\nknown: [{point: a, reason: b}]\n",
		"mapping.yaml": "executable: manager\nmanifests: install.yaml\nargs: [--a]\ngroup: g\nversion: v1\nkind: K\nresource: ks\ndeployment: \"{name}\"\nfields: {size: spec.size}\nconditions: {available: A}\n",
		"manager":      "", "install.yaml": "", "crds.yaml": "", "one.yaml": "", "two.yaml": "", "secret.yaml": "",
	} {
		g.Expect(os.WriteFile(name, []byte(content), 0o600)).To(Succeed())
	}
	directory, err := os.Getwd()
	g.Expect(err).NotTo(HaveOccurred())
	in := func(name string) string { return filepath.Join(directory, name) }
	sample := func(name string, companions ...string) conformance.SampleFile {
		return conformance.SampleFile{File: in(name), Companions: companions, Name: name}
	}

	flags := conformanceFlags{}
	known, runs, err := flags.read()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(flags.config).To(Equal("conformance.yaml"))
	g.Expect(known).To(Equal([]conformance.Known{{Point: "a", Reason: "b"}}))
	foreign := conformance.Foreign{Operator: in("manager"), Manifests: in("install.yaml"), CRDs: []string{in("crds.yaml")}, Args: []string{"--a"}, Env: []string{"A=1"}}
	before := foreign
	before.Operator = "example.com/operator:v1"
	g.Expect(runs).To(Equal([]conformanceRun{
		{foreign: foreign, before: before, sample: sample("one.yaml", in("secret.yaml")), labeled: true},
		{foreign: foreign, before: before, sample: sample("two.yaml"), labeled: true},
	}))

	flags = conformanceFlags{sample: "three.yaml", companions: []string{"four.yaml"}, from: conformance.Version{Image: "v0", Manifests: "v0.yaml"}, foreign: conformance.Foreign{
		Operator: "other", Manifests: "other.yaml", CRDs: []string{"others.yaml"}, Args: []string{"--b"}, Env: []string{"B=2"},
	}}
	_, runs, err = flags.read()
	g.Expect(err).NotTo(HaveOccurred())
	foreign = conformance.Foreign{Operator: "other", Manifests: "other.yaml", CRDs: []string{"others.yaml"}, Args: []string{"--a", "--b"}, Env: []string{"A=1", "B=2"}}
	before = foreign
	before.Operator, before.Manifests = "v0", "v0.yaml"
	g.Expect(runs).To(Equal([]conformanceRun{{
		foreign: foreign, before: before,
		sample: conformance.SampleFile{File: "three.yaml", Companions: []string{"four.yaml"}, Name: "three.yaml"},
	}}))

	// What a mapping says of arguments is added only once, when it is read.
	flags = conformanceFlags{config: "mapping.yaml", foreign: conformance.Foreign{Args: []string{"--b"}}}
	_, runs, err = flags.read()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(runs).To(HaveLen(1))
	g.Expect(runs[0].load(".", flags)).To(Succeed())
	g.Expect(runs[0].foreign.Args).To(Equal([]string{"--a", "--b"}))
	g.Expect(runs[0].mapping).To(Equal(in("mapping.yaml")))

	// Without a file, it is the operator of this repository.
	flags = conformanceFlags{}
	t.Chdir(t.TempDir())
	_, runs, err = flags.read()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(runs).To(Equal([]conformanceRun{{}}))
}

// Some flags are only for a process, others only for an image in a pod.
func TestClusterOfConformance(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, tc := range map[string]struct {
		flags conformanceFlags
		why   string
	}{
		"no such cluster":            {conformanceFlags{cluster: "existing"}, "there is no --cluster=existing: use one of embedded, kind"},
		"images without nodes":       {conformanceFlags{load: []string{"a.tar"}}, "images can be loaded only onto the nodes of a kind cluster: add --cluster=kind, or leave load out"},
		"unconfined in a pod":        {conformanceFlags{cluster: "kind", unconfined: true}, "--unconfined is for a process: on a kind cluster, the operator runs in a pod"},
		"a directory for a pod":      {conformanceFlags{cluster: "kind", directory: "."}, "a working directory is for a process: on a kind cluster, the operator has the files of its image"},
		"another version":            {conformanceFlags{cluster: "kind", kubernetes: "v1.36.5"}, "a kind cluster has one version of Kubernetes: leave --kubernetes=v1.36 out, or use an embedded cluster"},
		"images for nodes":           {conformanceFlags{cluster: "kind", load: []string{"a.tar"}}, ""},
		"a process, where none said": {conformanceFlags{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, runs, err := tc.flags.read()
			if tc.why != "" {
				g.Expect(err).To(MatchError(tc.why))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(runs).To(HaveLen(1))
			g.Expect(runs[0].foreign.InPods).To(Equal(tc.flags.cluster == "kind"))
		})
	}
}

// In the repository, its own operator is checked if nothing names another. Elsewhere, that would surprise.
func TestCheckNamed(t *testing.T) {
	g := NewWithT(t)
	root, elsewhere := t.TempDir(), t.TempDir()
	g.Expect(os.Mkdir(filepath.Join(root, "docs"), 0o755)).To(Succeed())
	named := conformanceRun{foreign: conformance.Foreign{Operator: "manager"}}
	g.Expect(checkNamed(root, root, conformanceRun{})).To(Succeed())
	g.Expect(checkNamed(root, filepath.Join(root, "docs"), conformanceRun{})).To(Succeed())
	g.Expect(checkNamed(root, elsewhere, named)).To(Succeed())
	g.Expect(checkNamed(root, elsewhere, conformanceRun{})).To(MatchError(MatchRegexp(
		`^there is no conformance.yaml in .*, and no flag names an operator: write the file, or use --operator, --manifests and --sample$`)))
}

// What to do about an error is said in whichever form the operator's log has it.
func TestAdvice(t *testing.T) {
	g := NewWithT(t)
	const want = "the operator needs Certificate of cert-manager.io/v1, which no CustomResourceDefinition defines: name its file with crds or --crds.\n"
	g.Expect(advice(`it is not. {"error":"no matches for kind \"Certificate\" in version \"cert-manager.io/v1\""}`)).To(Equal(want))
	g.Expect(advice(`error: no matches for kind "Certificate" in version "cert-manager.io/v1"`)).To(Equal(want))
	g.Expect(advice("panic: " + rest.ErrNotInCluster.Error())).To(ContainSubstring("KUBECONFIG"))
	g.Expect(advice("exited before it was ready")).To(BeEmpty())
}

// The suite's report is the only source of outcomes, so one that can't be right is an error.
func TestReadResults(t *testing.T) {
	const (
		gate  = `{"test":"TestPoints/gate","feature":"` + conformance.Gate + `","outcome":"holds"}` + "\n"
		one   = `{"test":"TestPoints/points/one","feature":"one","outcome":"does not hold"}` + "\n"
		other = `{"test":"TestPoints/points/two","feature":"two","outcome":"holds"}` + "\n"
	)
	for name, test := range map[string]struct {
		report string
		want   int
		err    string
	}{
		"each once":    {gate + one + other, 2, ""},
		"cut off":      {gate + one + `{"test":"Te`, 1, ""},
		"twice":        {gate + one + strings.Replace(one, "does not hold", "holds", 1), 1, "more than one result for TestPoints/points/one"},
		"not a result": {gate + one + "PASS\n" + other, 1, "invalid character"},
		"no cluster":   {`{"feature":"the cluster starts","outcome":"not tried","reason":"no disk"}` + "\n", 0, "the cluster does not start: no disk"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			reported := 0
			results, first, err := readResults(strings.NewReader(test.report), func(n int, _ framework.Result) { reported = n })
			g.Expect(results).To(HaveLen(test.want))
			g.Expect(reported).To(Equal(test.want))
			if strings.HasPrefix(test.report, gate) {
				g.Expect(first.Outcome).To(Equal(framework.Holds))
			}
			if test.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(test.err)))
			}
		})
	}
}

// Who pastes what is printed only has to say why.
func TestErrUnexpected(t *testing.T) {
	g := NewWithT(t)
	err := errUnexpected("conformance.yaml", []string{`"a" does not hold for b.yaml`}, []conformance.Known{{Point: "a", Sample: "b.yaml"}})
	g.Expect(err).To(MatchError(`the outcomes differ from those that conformance.yaml lists:
"a" does not hold for b.yaml
to accept what is new, add it to known in that file, with a reason:
- point: a
  reason: ""
  sample: b.yaml`))
	g.Expect(errUnexpected("conformance.yaml", []string{`"a" holds`}, nil)).To(MatchError("the outcomes differ from those that conformance.yaml lists:\n\"a\" holds"))
}

// Real containers need more of a machine than simulated ones.
func TestAtOnce(t *testing.T) {
	g := NewWithT(t)
	g.Expect(atOnce(false)).To(Equal(6))
	g.Expect(atOnce(true)).To(Equal(min(6, runtime.NumCPU()+1)))
}
