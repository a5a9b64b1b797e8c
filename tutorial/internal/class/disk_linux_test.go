package class_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/class"
	"github.com/example/operator-testbed/tutorial/internal/class/smalldisk"
)

// TestFullDiskWhileCollecting fills a disk that is really too small. What was collected before stays, with its time, and the same
// command does the rest as soon as there is space.
func TestFullDiskWhileCollecting(t *testing.T) {
	dir := smalldisk.Namespace(t)
	if dir == "" {
		return
	}
	g := NewWithT(t)
	if err := syscall.Mount("disk", dir, "tmpfs", 0, "size=400k"); err != nil {
		t.Skip(err)
	}
	resize := func(size string) {
		t.Helper()
		g.Expect(syscall.Mount("disk", dir, "tmpfs", syscall.MS_REMOUNT, "size="+size)).To(Succeed())
	}
	from := t.TempDir()
	handIn := func(id, text string) {
		g.Expect(simple(t.Context(), filepath.Join(from, id))).To(Succeed())
		write(t, "package main // "+strings.Repeat(text, 100<<10), from, id, "cmd", "main.go")
	}
	c := newClass(t, "stage: 04-status")
	g.Expect(os.CopyFS(filepath.Join(dir, "ops"), os.DirFS(c.Dir))).To(Succeed())
	g.Expect(os.Chmod(filepath.Join(dir, "ops", class.SecretFile), 0o600)).To(Succeed())
	c, err := class.Read(root, filepath.Join(dir, "ops"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, s := range c.Students {
		handIn(s.ID, "1")
	}
	collect := func(at time.Time) ([]class.Collection, error) {
		return class.Collect(t.Context(), root, c, c.Assignments[0], from, class.Directories, at)
	}
	full := MatchError(And(HavePrefix("the disk is full: free some space and type the same again; what was finished is kept ("), Not(ContainSubstring("\n"))))
	attempts := func(s class.Student) []class.Attempt {
		t.Helper()
		all, err := c.Attempts(c.Assignments[0], s)
		g.Expect(err).NotTo(HaveOccurred())
		for _, attempt := range all {
			g.Expect(filepath.Join(attempt.Dir, "cmd", "main.go")).To(BeAnExistingFile())
		}
		return all
	}

	// There is space for the first two, and not for a second copy of the third.
	collected, err := collect(now)
	g.Expect(err).To(full)
	done := len(collected)
	g.Expect(done).To(And(BeNumerically(">", 0), BeNumerically("<", 3)), "so many fit on the disk")
	g.Expect(filepath.Join(c.Dir, ".work")).NotTo(BeADirectory(), "what is not finished takes no space")
	for i, s := range c.Students {
		g.Expect(attempts(s)).To(HaveLen(map[bool]int{true: 1}[i < done]), s.ID)
	}
	resize("4000k")
	collected, err = collect(now.Add(time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	for i, s := range c.Students {
		want, at := class.Collected, now.Add(time.Hour)
		if i < done {
			want, at = class.Unchanged, now
		}
		g.Expect(collected[i].Outcome).To(Equal(want), s.ID)
		g.Expect(attempts(s)).To(HaveExactElements(HaveField("At", at)), s.ID)
	}

	// An attempt that does not fit leaves the one before it.
	resize("400k")
	handIn("s01", "2")
	_, err = collect(now.Add(2 * time.Hour))
	g.Expect(err).To(full)
	g.Expect(attempts(c.Students[0])).To(HaveExactElements(HaveField("At", now)))
	resize("4000k")
	g.Expect(collect(now.Add(2 * time.Hour))).To(ContainElement(HaveField("Outcome", class.Collected)))
	g.Expect(attempts(c.Students[0])).To(HaveExactElements(HaveField("At", now), HaveField("At", now.Add(2*time.Hour))))
}
