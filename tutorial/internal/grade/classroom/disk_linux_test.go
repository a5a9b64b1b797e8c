package classroom_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/class"
	"github.com/example/operator-testbed/tutorial/internal/class/smalldisk"
	"github.com/example/operator-testbed/tutorial/internal/grade/classroom"
)

// TestFullDiskWhileGrading has no space for results. Those that are missing are reported, no file has half of one, and the same
// command does the rest as soon as there is space.
func TestFullDiskWhileGrading(t *testing.T) {
	if smalldisk.Namespace(t) == "" {
		return
	}
	g := NewWithT(t)
	c, a := newClass(t)
	collect(t, c, a, time.Now(), map[string]string{"s01": two, "s02": one})
	graded := filepath.Join(c.Dir, class.Graded)
	g.Expect(os.MkdirAll(graded, 0o755)).To(Succeed())
	if err := syscall.Mount("disk", graded, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(graded, 0) })
	grader := &fake{}
	o := classroom.Options{Class: c, Assignment: a, AtOnce: 1, Grader: grader, Commit: "abc"}
	o.Student = "s01"
	g.Expect(classroom.Grade(t.Context(), o, io.Discard)).To(Succeed())
	before := read(t, c)

	// What is left is not enough for a page.
	ballast, err := os.Create(filepath.Join(graded, "ballast"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.Copy(ballast, strings.NewReader(strings.Repeat("x", 64<<10)))
	g.Expect(err).To(MatchError(syscall.ENOSPC))
	g.Expect(ballast.Close()).To(Succeed())
	o.Student = ""
	var out bytes.Buffer
	err = classroom.Grade(t.Context(), o, &out)
	g.Expect(err).To(MatchError(HavePrefix("the disk is full: free some space and type the same again; what was finished is kept (")), out.String())

	g.Expect(os.Remove(ballast.Name())).To(Succeed())
	g.Expect(read(t, c)).To(Equal(before), "what was there stays")
	g.Expect(classroom.Grade(t.Context(), o, &out)).To(Succeed())
	g.Expect(grader.graded.Load()).To(BeEquivalentTo(2), "each was graded once")
	g.Expect(filepath.Join(graded, "s02", a.Name()+".json")).To(BeAnExistingFile())
}
