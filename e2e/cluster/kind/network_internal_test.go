package kind

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// What becomes of a network that this state folder's cluster brought, by what Docker says and which clusters are left. Docker is a
// script here, which notes what it was asked for.
func TestNetworkGoesWithItsLastContainer(t *testing.T) {
	for name, test := range map[string]struct {
		users, rm, left string // what docker prints, how it removes, a cluster of this state folder
		removed, kept   bool   // the network was to be removed; it is still ours
	}{
		"nobody is in it":                    {"", "true", "", true, false},
		"it has gone already":                {"", "echo 'Error: No such network: id' >&2; false", "", true, false},
		"it can't be removed":                {"", "echo 'Error: no' >&2; false", "", true, true},
		"another cluster of ours is in it":   {"f00", "true", "other", false, true},
		"somebody else's cluster is in it":   {"f00", "true", "", false, false},
		"another cluster, but not in Docker": {"", "true", "other", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			bin, state := t.TempDir(), t.TempDir()
			asked := filepath.Join(bin, "asked")
			script := "#!/bin/sh\necho \"$@\" >>" + asked + "\ncase $1 in ps) echo " + test.users + " ;; *) " + test.rm + " ;; esac\n"
			g.Expect(os.WriteFile(filepath.Join(bin, "docker"), []byte(script), 0o755)).To(Succeed())
			t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			t.Setenv("TESTBED_STATE", state)
			p := NewProvider()
			var err error
			p.layout, err = layoutOf("gone")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(os.MkdirAll(filepath.Join(filepath.Dir(string(p.layout)), test.left), 0o755)).To(Succeed())

			g.Expect(p.removeNetwork(t.Context())).To(Succeed(), "one that was there before is left alone")
			g.Expect(asked).NotTo(BeAnExistingFile())

			g.Expect(os.WriteFile(p.layout.ownNetwork(), []byte("id"), 0o600)).To(Succeed())
			failed := p.removeNetwork(t.Context())
			g.Expect(failed != nil).To(Equal(test.removed && test.kept), "%v", failed)
			said, err := os.ReadFile(asked)
			g.Expect(err).NotTo(HaveOccurred())
			want := "ps --all --quiet --filter=network=id\n"
			if test.removed {
				want += "network rm id\n"
			}
			g.Expect(string(said)).To(Equal(want))
			if test.kept {
				g.Expect(p.layout.ownNetwork()).To(BeAnExistingFile())
			} else {
				g.Expect(p.layout.ownNetwork()).NotTo(BeAnExistingFile())
			}
		})
	}
}
