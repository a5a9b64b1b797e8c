package operand

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/example/operator-testbed/kind/node/internal/archive"
)

// self is the test's own executable, which is static: it needs nothing.
func self(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("this needs Linux: ", err)
	}
	return data
}

func TestLinksAreFollowed(t *testing.T) {
	s := system{
		files: map[string][]byte{"/usr/lib/x/libevent.so.7.0.1": []byte("x")},
		links: map[string]string{
			"/usr/lib/x/libevent.so.7": "libevent.so.7.0.1",
			"/lib64/ld.so":             "/usr/lib/x/libevent.so.7",
			"/ring":                    "/ring",
		},
	}
	for _, name := range []string{"/lib64/ld.so", "/usr/lib/x/libevent.so.7"} {
		if data, ok := s.content(name); !ok || string(data) != "x" {
			t.Errorf("%s: got %q, %v", name, data, ok)
		}
	}
	if _, ok := s.content("/ring"); ok {
		t.Error("a ring of links has a content")
	}
	if name, ok := s.library("libevent.so.7"); !ok || name != "/usr/lib/x/libevent.so.7" {
		t.Errorf("got %s, %v", name, ok)
	}
}

func TestClosureOfAStaticProgram(t *testing.T) {
	files, err := system{files: map[string][]byte{program: self(t), "/lib/libc.so.6": nil}}.closure(program)
	if err != nil || len(files) != 1 || files[0].Path != program {
		t.Errorf("got %d files and %v", len(files), err)
	}
	if _, err := (system{}).closure(program); err == nil || !strings.Contains(err.Error(), program) {
		t.Errorf("a program that there is not: %v", err)
	}
}

func TestTagFollowsTheFiles(t *testing.T) {
	one := []archive.File{{Path: "/a", Content: []byte("1")}}
	other := []archive.File{{Path: "/a", Content: []byte("2")}}
	if tag(one) == tag(other) || tag(one) != tag(slices.Clone(one)) {
		t.Errorf("the tags are %s and %s", tag(one), tag(other))
	}
}
