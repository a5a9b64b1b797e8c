package operator_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
)

// TestBuildACopy builds a module of its own, which is in no directory of the clone, and one that
// lacks what a kubebuilder project has.
func TestBuildACopy(t *testing.T) {
	root, copied := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{
		"go.mod":                            "module example.com/copy\n\ngo 1.26\n",
		"cmd/main.go":                       "package main\n\nfunc main() {}\n",
		"config/default/kustomization.yaml": "resources:\n- account.yaml\n",
		"config/default/account.yaml":       "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: operator\n",
	} {
		path := filepath.Join(copied, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, err := operator.Build(t.Context(), root, copied)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(root, "bin", "copy-"+filepath.Base(copied)); program.Binary != want {
		t.Errorf("the executable is %s, want %s", program.Binary, want)
	}
	if _, err := os.Stat(program.Binary); err != nil {
		t.Error(err)
	}
	if accounts := program.Manifests.Select("ServiceAccount"); len(accounts) != 1 {
		t.Errorf("the manifests have the ServiceAccounts %v, want one", accounts)
	}
	local := filepath.Join(copied, "config", "local")
	if err := errors.Join(os.Mkdir(local, 0o755), os.WriteFile(filepath.Join(local, "kustomization.yaml"), []byte("namePrefix: local-\nresources:\n- ../default\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	program, err = operator.Build(t.Context(), root, copied)
	if err != nil {
		t.Fatal(err)
	}
	if accounts := program.Manifests.Select("ServiceAccount"); len(accounts) != 1 || accounts[0].GetName() != "local-operator" {
		t.Errorf("with config/local, the manifests have the ServiceAccounts %v, want local-operator", accounts)
	}
	if err := os.RemoveAll(filepath.Join(copied, "cmd")); err != nil {
		t.Fatal(err)
	}
	want := "there is no operator to run in " + copied + ": it has no directory cmd"
	if _, err := operator.Build(t.Context(), root, copied); err == nil || err.Error() != want {
		t.Errorf("without cmd: %v, want %s", err, want)
	}
	want = "there is no directory mistyped: give the directory of an operator, such as a copy from make start"
	if _, err := operator.Build(t.Context(), root, "mistyped"); err == nil || err.Error() != want {
		t.Errorf("without the directory: %v, want %s", err, want)
	}
}

func TestTitle(t *testing.T) {
	for directory, want := range map[string]string{
		"operator":               "the finished operator (operator/)",
		"first-operator":         "the operator of first-operator",
		"tutorial/03-controller": "the operator of tutorial/03-controller",
	} {
		if got := operator.Title(directory); got != want {
			t.Errorf("Title(%q) is %q; want %q", directory, got, want)
		}
	}
}
