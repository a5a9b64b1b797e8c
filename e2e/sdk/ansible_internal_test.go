package sdk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const ansibleProject = "../../tutorial/18-operator-sdk/ansible"

// Each missing package is named, with the command that installs it.
func TestAnsibleIsIncomplete(t *testing.T) {
	root := t.TempDir()
	install := func(path string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	const want = "Ansible is incomplete: on Debian 12, type sudo apt-get install --no-install-recommends "
	all := "ansible-core ansible python3-kubernetes python3-ansible-runner python3-requests-unixsocket"
	if err := findAnsible(root); err == nil || err.Error() != want+all {
		t.Errorf("nothing is installed: %v\nwant %s", err, want+all)
	}
	for i, p := range debian {
		install(p.path)
		_, lacking, _ := strings.Cut(all, p.name+" ")
		switch err := findAnsible(root); {
		case i == len(debian)-1 && err != nil:
			t.Errorf("everything is installed: %v", err)
		case i < len(debian)-1 && (err == nil || err.Error() != want+lacking):
			t.Errorf("%s is installed: %v\nwant %s", p.name, err, want+lacking)
		}
	}
}

// The image contains the same packages.
func TestImageHasThePackages(t *testing.T) {
	const file = "../../kind/node/internal/ansible/ansible.go"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range debian {
		if !strings.Contains(string(text), `"`+p.name+`"`) {
			t.Errorf("%s does not name the package %s", file, p.name)
		}
	}
}

// The script that starts the operator looks for the same packages, prints the same sentence, and has the same lock.
func TestOperatorAgreesWithTests(t *testing.T) {
	text, err := os.ReadFile(ansibleProject + "/operator")
	if err != nil {
		t.Fatal(err)
	}
	script := string(text)
	for _, p := range debian {
		if !strings.Contains(script, "\n  "+p.name+":"+p.path+" ") && !strings.Contains(script, "\n  "+p.name+":"+p.path+"\n") {
			t.Errorf("the script does not look for %s of the package %s", p.path, p.name)
		}
	}
	variable, value, _ := strings.Cut(AnsibleLocked, "=")
	for _, part := range []string{
		"Ansible is incomplete: on Debian 12, type sudo apt-get install --no-install-recommends",
		ansibleLock, `"$` + variable + `" != ` + value, "/" + EventPlugin,
	} {
		if !strings.Contains(script, part) {
			t.Errorf("the script does not contain %s", part)
		}
	}
}
