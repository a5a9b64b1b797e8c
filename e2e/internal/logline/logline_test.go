package logline_test

import (
	"testing"

	"github.com/example/operator-testbed/e2e/internal/logline"
)

func TestCause(t *testing.T) {
	for name, test := range map[string]struct{ log, want string }{
		"zap in JSON":                    {"{\"level\":\"error\",\"msg\":\"a\"}\n{\"level\":\"info\",\"msg\":\"b\"}\n", `{"level":"error","msg":"a"}`},
		"zap in text":                    {"2026-01-01T00:00:00Z\tERROR\ta\n2026-01-01T00:00:00Z\tINFO\tb\n", "2026-01-01T00:00:00Z\tERROR\ta"},
		"slog":                           {"2026/11/22 04:51:48 ERROR a\n2026/11/22 04:51:48 INFO b\n", "2026/11/22 04:51:48 ERROR a"},
		"klog":                           {"E0101 00:00:00.000000       1 a.go:1] a\nI0101 00:00:00.000000       1 a.go:1] b\n", "E0101 00:00:00.000000       1 a.go:1] a"},
		"the last of several errors":     {"2026/11/22 04:51:48 ERROR a\n2026/11/22 04:51:48 ERROR b\nc\n", "2026/11/22 04:51:48 ERROR b"},
		"a flag":                         {"flag provided but not defined: -a\nUsage of operator:\n  -b\n", "flag provided but not defined: -a"},
		"a flag of cobra's":              {"E0101 00:00:00.000000       1 a.go:1] a\nError: unknown flag: --a\nUsage:\n  operator [flags]\n", "Error: unknown flag: --a"},
		"a panic":                        {"panic: a\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: a"},
		"a fatal error of Go's runtime":  {"fatal error: a\n\ngoroutine 1 [running]:\nmain.main()\n", "fatal error: a"},
		"a panic that zap has logged":    {"{\"level\":\"panic\",\"error\":\"a\"}\npanic: b\n\ngoroutine 1 [running]:\n", `{"level":"panic","error":"a"}`},
		"a panic after an error":         {"2026/11/22 04:51:48 ERROR a\npanic: b\n\ngoroutine 1 [running]:\n", "panic: b"},
		"the last of two panics":         {"panic: a\npanic: b\n", "panic: b"},
		"no error":                       {"a\nb\n\n", "b"},
		"a word in a message":            {`{"level":"info","msg":"ERROR rate 0"}` + "\n", `{"level":"info","msg":"ERROR rate 0"}`},
		"a line that was not yet ended":  {"a\nb", "b"},
		"nothing":                        {},
		"nothing but the ends of lines":  {log: "\n\n"},
		"a stack trace that mentions it": {"panic: a\n\tERROR.go:1\n", "panic: a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := logline.Cause([]byte(test.log)); got != test.want {
				t.Errorf("got %q, expected %q", got, test.want)
			}
		})
	}
}

func TestError(t *testing.T) {
	for line, want := range map[string]string{
		`{"level":"error","ts":"1","msg":"Reconciler error","reconcileID":"1","error":"the first"}`:                       "Reconciler error: the first",
		`{"level":"error","msg":"Failed to watch","stacktrace":"a\n\tb"}`:                                                 "Failed to watch",
		`{"level":"info","msg":"ERROR rate 0"}`:                                                                           "",
		"2026-11-22T04:51:47Z\tERROR\tReconciler error\t{\"namespace\": \"a\", \"reconcileID\": \"5\", \"error\": \"b\"}": "Reconciler error\t{\"namespace\": \"a\", \"error\": \"b\"}",
		`2026/11/22 04:51:48 ERROR Again later error="EOF"`:                                                               `Again later error="EOF"`,
		"2026/11/22 04:51:48 INFO Booked":                                                                                 "",
		`E1121 09:29:27.149218   32055 run.go:72] "command failed" err="a"`:                                               `"command failed" err="a"`,
		"I1121 09:29:27.148965   32055 options.go:261] a":                                                                 "",
		"": "",
	} {
		if got := logline.Error([]byte(line)); got != want {
			t.Errorf("%s: got %q, expected %q", line, got, want)
		}
	}
}
