package sdk_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/tier"
)

// copyOperator returns a copy of the operator in which make works, with what its module and its tools need.
func copyOperator(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	operator := filepath.Join(directory, "operator")
	err := filepath.WalkDir(root+"/operator", func(path string, entry fs.DirEntry, err error) error {
		name, relative := filepath.Rel(root, path)
		switch {
		case err != nil || relative != nil:
			return errors.Join(err, relative)
		case entry.IsDir() && entry.Name() == "bin":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(directory, name), 0o755)
		case entry.Name() == "GNUmakefile": // it belongs to the root
			return nil
		}
		return copyFile(path, filepath.Join(directory, name))
	})
	for _, name := range []string{"go.mod", "go.sum", "scripts/tools/go.mod", "scripts/tools/go.sum"} {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(filepath.Join(directory, name)), 0o755), copyFile(filepath.Join(root, name), filepath.Join(directory, name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return operator
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

// makeCommand is make in a copy of the operator.
func makeCommand(t *testing.T, tools sdk.Tools, operator string, args ...string) *exec.Cmd {
	t.Helper()
	assets, err := embedded.Assets(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{"--silent", "KUBECTL=" + filepath.Join(assets, "kubectl"), "OPERATOR_SDK=" + tools.Path(sdk.OperatorSDK), "OPM=" + tools.Path(sdk.OPM)}
	command := exec.CommandContext(t.Context(), "make", append(settings, args...)...)
	command.Dir = operator
	return command
}

func makeTarget(t *testing.T, tools sdk.Tools, operator string, args ...string) {
	t.Helper()
	command := makeCommand(t, tools, operator, args...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
}

// texts returns the files of a directory.
func texts(t *testing.T, directory string) map[string]string {
	t.Helper()
	result := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, _ := filepath.Rel(directory, path) // it is below
		text, err := os.ReadFile(path)
		result[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// The committed bundle is what `make bundle` writes.
func TestBundleIsUpToDate(t *testing.T) {
	tier.All(t)
	operator := copyOperator(t)
	makeTarget(t, sdk.Need(t, root), operator, "bundle")
	for _, directory := range []string{"bundle", "config/manifests"} {
		if diff := cmp.Diff(texts(t, filepath.Join(operator, directory)), texts(t, root+"/operator/"+directory)); diff != "" {
			t.Errorf("operator/%s is stale: make build-bundle writes it (-generated +in the repository):\n%s", directory, diff)
		}
	}
	for _, file := range []string{"bundle.Dockerfile"} {
		want, err := os.ReadFile(filepath.Join(operator, file))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(root + "/operator/" + file); err != nil || string(got) != string(want) {
			t.Errorf("operator/%s is stale (%v): make build-bundle writes it", file, err)
		}
	}
}

// IMG is the image in both places that name it.
func TestBundleOfAnImage(t *testing.T) {
	tier.All(t)
	operator := copyOperator(t)
	makeTarget(t, sdk.Need(t, root), operator, "bundle", "IMG=registry.example.com/operator:v7")
	text := texts(t, filepath.Join(operator, "bundle", "manifests"))["memcached-operator.clusterserviceversion.yaml"]
	if found := regexp.MustCompile(`[iI]mage: .*`).FindAllString(text, -1); cmp.Diff([]string{"Image: registry.example.com/operator:v7", "image: registry.example.com/operator:v7"}, found) != "" {
		t.Errorf("the images are %q", found)
	}
}

// eventsWarning is about the group events.k8s.io. The check looks at the name of the resource only, and takes it for the version v1beta1
// of the group, which Kubernetes v1.25 removed. Permissions have no version.
var eventsWarning = regexp.MustCompile(`Migrate the API\(s\) for events: \(\["ClusterServiceVersion\.Spec\.InstallStrategy\.StrategySpec\.ClusterPermissions\[0\]\.Rules\[\d+\]"\]\)`)

// `operator-sdk bundle validate` finds no fault, with its optional checks, and gives one warning, which is wrong.
func TestBundleIsValid(t *testing.T) {
	tier.All(t)
	for _, suite := range []string{"suite=operatorframework", "name=good-practices", "name=community"} {
		for _, message := range validate(t, bundle, suite) {
			if message.Type == "warning" && (eventsWarning.MatchString(message.Message) || strings.Contains(message.Message, "validator is deprecated")) {
				continue
			}
			t.Errorf("%s: %s: %s", suite, message.Type, message.Message)
		}
	}
}

type message struct{ Type, Message string }

// validate returns what `operator-sdk bundle validate` has to say about a bundle.
func validate(t *testing.T, bundle, suite string) []message {
	t.Helper()
	absolute, err := filepath.Abs(bundle)
	if err != nil {
		t.Fatal(err)
	}
	printed, err := sdk.Need(t, root).Run(t.Context(), t.TempDir(), sdk.OperatorSDK, "bundle", "validate", absolute,
		"--select-optional="+suite, "--optional-values=k8s-version=1.37", "--output=json-alpha1")
	var result struct {
		Passed  bool
		Outputs []message
	}
	if parsed := json.Unmarshal(printed, &result); parsed != nil {
		t.Fatalf("validate printed %s, %v, %v", printed, err, parsed)
	}
	if result.Passed != (err == nil) {
		t.Errorf("passed is %v, and the error %v", result.Passed, err)
	}
	return result.Outputs
}

// All of scorecard's built-in tests pass.
func TestScorecard(t *testing.T) {
	tier.All(t)
	results, err := sdk.Need(t, root).Scorecard(t.Context(), bundle)
	if err != nil {
		t.Fatal(err)
	}
	var passed []string
	for _, r := range results {
		if r.Passed {
			passed = append(passed, r.Suite+" "+r.Test)
		} else {
			t.Errorf("%s: %v; suggestions: %v", r.Test, r.Errors, r.Suggestions)
		}
	}
	want := []string{"basic basic-check-spec", "olm olm-bundle-validation", "olm olm-crds-have-validation", "olm olm-crds-have-resources", "olm olm-spec-descriptors", "olm olm-status-descriptors"}
	if diff := cmp.Diff(want, passed); diff != "" {
		t.Errorf("tests that passed (-want +got):\n%s", diff)
	}
}

// A bundle with a fault fails the test that is about it, and no other.
func TestFaultyBundle(t *testing.T) {
	tier.All(t)
	tools := sdk.Need(t, root)
	const csv = "manifests/memcached-operator.clusterserviceversion.yaml"
	for name, test := range map[string]struct{ file, from, to, fails, because string }{
		"a field without a descriptor": {csv, "        path: size\n", "        path: sise\n", "olm-spec-descriptors", "size"},
		"no resources":                 {csv, "      resources:\n", "      others:\n", "olm-crds-have-resources", "resources"},
		"an invalid version":           {csv, "minKubeVersion: 1.34.0", "minKubeVersion: newest", "olm-bundle-validation", "newest"},
	} {
		t.Run(name, func(t *testing.T) {
			faulty := filepath.Join(t.TempDir(), "bundle")
			if err := os.CopyFS(faulty, os.DirFS(bundle)); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(faulty, test.file))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(text), test.from) == 0 {
				t.Fatalf("%s does not contain %q", test.file, test.from)
			}
			if err := os.WriteFile(filepath.Join(faulty, test.file), []byte(strings.Replace(string(text), test.from, test.to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			results, err := tools.Scorecard(t.Context(), faulty)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				said := strings.Join(append(r.Errors, r.Suggestions...), "; ")
				if r.Passed == (r.Test == test.fails) || r.Test == test.fails && !strings.Contains(said, test.because) {
					t.Errorf("%s: passed is %v, and it says %q", r.Test, r.Passed, said)
				}
			}
		})
	}
}

// What is not a bundle, or has tests that only a pod can run, is reported in one sentence.
func TestScorecardCanNotRun(t *testing.T) {
	empty, custom := t.TempDir(), t.TempDir()
	if err := errors.Join(os.MkdirAll(custom+"/tests/scorecard", 0o755), os.WriteFile(custom+"/tests/scorecard/config.yaml",
		[]byte("stages:\n- tests:\n  - entrypoint: [custom-tests, mine]\n    labels: {test: mine}\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	_, programs := built(t)
	for directory, want := range map[string]string{
		empty:  " has no tests/scorecard/config.yaml: make bundle writes one from config/scorecard",
		custom: `the test mine runs "custom-tests mine", which is not built in: it can only run in a pod`,
	} {
		if _, err := sdk.Tools(programs).Scorecard(t.Context(), directory); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
