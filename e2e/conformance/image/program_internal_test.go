package image

import (
	"debug/elf"
	"testing"

	. "github.com/onsi/gomega"
)

func TestUnfit(t *testing.T) {
	static := &elf.File{FileHeader: elf.FileHeader{Machine: elf.EM_X86_64}}
	linked := &elf.File{FileHeader: static.FileHeader, Progs: []*elf.Prog{{ProgHeader: elf.ProgHeader{Type: elf.PT_INTERP}}}}
	strange := &elf.File{FileHeader: elf.FileHeader{Machine: elf.EM_VAX}}
	for name, tc := range map[string]struct {
		file         *elf.File
		goos, goarch string
		why          string
	}{
		"fits":             {static, "linux", "amd64", ""},
		"another machine":  {static, "linux", "arm64", "is for linux/amd64, and this machine is linux/arm64"},
		"another system":   {static, "darwin", "amd64", "is for linux/amd64, and this machine is darwin/amd64"},
		"libraries":        {linked, "linux", "amd64", "is linked to libraries of its image"},
		"a strange device": {strange, "linux", "amd64", "is for linux/EM_VAX, and this machine is linux/amd64"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.why == "" {
				g.Expect(unfit(tc.file, tc.goos, tc.goarch)).To(BeEmpty())
			} else {
				g.Expect(unfit(tc.file, tc.goos, tc.goarch)).To(ContainSubstring(tc.why))
			}
		})
	}
}
