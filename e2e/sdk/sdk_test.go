package sdk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/tier"
)

const root = "../.."

// built is a repository in which make sdk has just built the programs, which are empty files.
func built(t *testing.T) (repository, programs string) {
	t.Helper()
	repository, programs = t.TempDir(), t.TempDir()
	write := func(path string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
		past := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", "main.go", "plugin.go"} {
		write(filepath.Join(repository, "scripts", "sdk", name))
	}
	for _, name := range []string{sdk.OperatorSDK, sdk.OPM, sdk.Helm, sdk.HelmOperator, sdk.AnsibleOperator, sdk.ScorecardTest} {
		write(filepath.Join(programs, name))
	}
	if err := errors.Join(os.Mkdir(filepath.Join(programs, sdk.EventPlugin), 0o755), os.MkdirAll(filepath.Join(repository, "bin"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(programs, filepath.Join(repository, "bin", "sdk")); err != nil {
		t.Fatal(err)
	}
	return repository, programs
}

func TestFind(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T, repository, programs string)
		want   string
	}{
		"built": {func(*testing.T, string, string) {}, ""},
		"never built": {func(t *testing.T, repository, _ string) {
			t.Helper()
			if err := os.Remove(filepath.Join(repository, "bin", "sdk")); err != nil {
				t.Fatal(err)
			}
		}, "Operator SDK is not built: type make sdk in the root of operator-testbed, which compiles it once, for several minutes"},
		"the cache was deleted": {func(t *testing.T, _, programs string) {
			t.Helper()
			if err := os.RemoveAll(programs); err != nil {
				t.Fatal(err)
			}
		}, "operator-sdk is not in …/bin/sdk: type make sdk in the root of operator-testbed, which builds what is missing"},
		"built by an older clone": {func(t *testing.T, _, programs string) {
			t.Helper()
			if err := os.Remove(filepath.Join(programs, sdk.EventPlugin)); err != nil {
				t.Fatal(err)
			}
		}, "event-plugin is not in …/bin/sdk: type make sdk in the root of operator-testbed, which builds what is missing"},
		"a newer version is pinned": {func(t *testing.T, repository, _ string) {
			t.Helper()
			future := time.Now().Add(time.Hour)
			if err := os.Chtimes(filepath.Join(repository, "scripts", "sdk", "go.mod"), future, future); err != nil {
				t.Fatal(err)
			}
		}, "Operator SDK was built before scripts/sdk/go.mod changed: type make sdk again in the root of operator-testbed"},
	} {
		t.Run(name, func(t *testing.T) {
			repository, programs := built(t)
			test.change(t, repository, programs)
			tools, err := sdk.Find(repository)
			switch {
			case test.want == "" && (err != nil || filepath.Dir(tools.Path(sdk.OPM)) != string(tools)):
				t.Errorf("found %q, %v", tools, err)
			case test.want != "" && (err == nil || strings.Replace(err.Error(), repository, "…", 1) != test.want):
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// Where nothing is built, the blocks of pages that need Ansible are skipped as well as those that need the programs only.
func TestMissing(t *testing.T) {
	missing := sdk.Missing(t.TempDir())
	for _, tools := range []string{"sdk", "ansible"} {
		if reason := missing[tools]; !strings.HasPrefix(reason, sdk.ErrNotBuilt.Error()) || strings.Contains(reason, "\n") {
			t.Errorf("blocks with tools=%s are skipped because %q", tools, reason)
		}
	}
}

// The programs report the versions that scripts/sdk pins. What operator-sdk scaffolds contains them.
func TestVersions(t *testing.T) {
	tier.All(t)
	tools := sdk.Need(t, root)
	goMod, err := os.ReadFile(root + "/scripts/sdk/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, module := range map[string]string{
		sdk.OperatorSDK: "github.com/operator-framework/operator-sdk", sdk.HelmOperator: "github.com/operator-framework/operator-sdk",
		sdk.AnsibleOperator: "github.com/operator-framework/ansible-operator-plugins", sdk.OPM: "github.com/operator-framework/operator-registry",
		sdk.Helm: "helm.sh/helm/v3",
	} {
		_, after, found := strings.Cut(string(goMod), "\t"+module+" ")
		version, _, _ := strings.Cut(after, " ")
		if !found {
			t.Errorf("scripts/sdk/go.mod does not require %s", module)
			continue
		}
		if printed, err := tools.Run(t.Context(), "", name, "version"); err != nil || !strings.Contains(string(printed), `"`+version+`"`) {
			t.Errorf("%s version prints %s (%v), expected %s", name, printed, err, version)
		}
	}
}
