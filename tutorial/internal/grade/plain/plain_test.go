package plain_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/example/operator-testbed/tutorial/internal/grade/plain"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"what is harmless", "expected 3\n\tgot 2: ü 日本 👩‍💻", "expected 3\n\tgot 2: ü 日本 👩‍💻"},
		{"colors", "\x1b[1;31mred\x1b[0m", "red"},
		{"a color of one character", "\u009b31mred", "red"},
		{"a window's title", "a\x1b]0;owned\x07b", "ab"},
		{"a link", "\x1b]8;;https://example.com\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"a command that does not end", "a\x1b]0;owned", "a"},
		{"a terminal's reset", "a\x1bcb", "ab"},
		{"a lone escape", "a\x1b", "a"},
		{"control characters", "a\x00b\x08c\x7fd\u0085e", "abcde"},
		{"a line that is overwritten", "fail\rpass\r\nend", "fail\npass\nend"},
		{"another direction", "a\u202eb\u2066c", "abc"},
		{"no UTF-8", "a\xffb", "a\uFFFDb"},
		{"not in XML", "a\uffffb", "a\uFFFDb"},
	} {
		if got := plain.Text(test.in); got != test.want {
			t.Errorf("%s: got %q, expected %q", test.name, got, test.want)
		}
	}
}

func TestTextIsBounded(t *testing.T) {
	for name, got := range map[string]string{
		"text": plain.Text(strings.Repeat("ü", plain.MaxText+1)),
		"line": strings.Repeat("x", plain.MaxText-plain.MaxLine) + plain.Line(strings.Repeat("ü ", plain.MaxLine)),
	} {
		if utf8.RuneCountInString(got) != plain.MaxText && name == "text" || utf8.RuneCountInString(got) > plain.MaxText || !strings.HasSuffix(got, "…") {
			t.Errorf("%s has %d characters and ends with %q", name, utf8.RuneCountInString(got), got[len(got)-5:])
		}
	}
	if whole := strings.Repeat("ü", plain.MaxText); plain.Text(whole) != whole {
		t.Error("a text that is short enough was cut")
	}
	if got := plain.Line("a\n b\tc"); got != "a b c" {
		t.Errorf("got %q, expected one line", got)
	}
}

func TestCell(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "Ada": "Ada", "4.5": "4.5", "-4.5": "-4.5", "a=b": "a=b",
		"=1+1": "'=1+1", "+1+1": "'+1+1", "-1+1": "'-1+1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1", "=": "'=", "-Infinityx": "'-Infinityx",
	} {
		if got := plain.Cell(in); got != want {
			t.Errorf("%q: got %q, expected %q", in, got, want)
		}
	}
}
