package markdown

import (
	"strings"
	"testing"
)

func TestShows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shown, printed string
		want           bool
	}{
		{"one", "one\n", true},
		{"one", "one  \n\n\n", true},
		{"one", "", false},
		{"one", "one\ntwo\n", false},
		{"one\n...", "one\n", true},
		{"one\n...", "one\ntwo\nthree\n", true},
		{"...\nthree", "one\ntwo\nthree\n", true},
		{"...\nthree", "one\ntwo\n", false},
		{"one\n...\ntwo\n...", "one\nthree\n", false},
		{"wait ...", "wait ...\n", true},
		{"wait ...", "wait for it\n", false},
		{"port …", "port 1 of 2\n", true},
		{"port …", "ports\n", false},
		{"a.b", "axb\n", false},
		{"<number> pods", "12 pods\n", true},
		{"<number> pods", "twelve pods\n", false},
		{"  <number> s", "   0.5 s\n", true},
		{"pod-<hash>-<hash>   1/1", "pod-5f-x2 1/1\n", true},
		{"pod-<hash>-<hash>   1/1", "pod-5f 1/1\n", false},
		{"after <duration>.", "after 1m2.5s.\n", true},
		{"after <duration>.", "after 5.\n", false},
		{"v<word> is", "v1.37.0 is\n", true},
		{"<none>", "<none>\n", true},
		{"<none>", "none\n", false},
		{"NAME   AGE", "NAME       AGE\n", true},
		{"NAME   AGE", "NAMEAGE\n", false},
		{"  indented", "    indented\n", false},
	} {
		if got := shows(strings.Split(test.shown, "\n"), test.printed); got != test.want {
			t.Errorf("%q shows %q: %t, expected %t", test.shown, test.printed, got, test.want)
		}
	}
}

// TestAppears has a command in the background that has not printed all.
func TestAppears(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shown, printed string
		taken          string
		appears        bool
		contradicted   bool
	}{
		{"one\ntwo", "", "", false, false},
		{"one\ntwo", "one\ntw", "", false, false},
		{"one\ntwo", "one\ntwo\nthree\n", "one\ntwo\n", true, false},
		{"one\ntwo", "one\nthree\n", "", false, true},
		{"one\n...\ntwo", "one\nthree\n", "", false, false},
		{"one\n...\ntwo", "two\n", "", false, true},
		{"...\ntwo", "one\ntwo\nlast\n", "one\ntwo\n", true, false},
	} {
		shown := strings.Split(test.shown, "\n")
		n := appears(shown, test.printed)
		if (n >= 0) != test.appears || n >= 0 && test.printed[:n] != test.taken {
			t.Errorf("of %q, %q takes %d bytes, expected %q (%t)", test.printed, test.shown, n, test.taken, test.appears)
		}
		if got := n < 0 && contradicted(shown, test.printed); got != test.contradicted {
			t.Errorf("%q contradicts %q: %t, expected %t", test.printed, test.shown, got, test.contradicted)
		}
	}
}
