package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// make logs passes on C whether or not it is set.
func TestShowLogs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etcd.log")
	if err := os.WriteFile(file, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	logs := []logFile{{"etcd", file}, {"audit", "/logs/audit.log"}}
	for component, test := range map[string]struct{ want, err string }{
		"":        {want: "etcd   " + file + "\naudit  /logs/audit.log\n"},
		"etcd":    {want: "b\n"},
		"unknown": {err: `there is no component "unknown": choose one of etcd, audit`},
	} {
		g := NewWithT(t)
		var out strings.Builder
		err := showLogs(t.Context(), &out, logs, component, 1, false)
		if test.err != "" {
			g.Expect(err).To(MatchError(test.err))
			continue
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out.String()).To(Equal(test.want))
	}
}
