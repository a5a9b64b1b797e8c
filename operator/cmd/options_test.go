package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	digest := "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, test := range []struct {
		name      string
		arguments []string
		image     string
		want      options
	}{
		{"nothing said", nil, "", options{healthProbeAddress: ":8081", metricsAddress: "0", image: defaultImage}},
		{"all said",
			[]string{"--health-probe-bind-address=127.0.0.1:1", "--metrics-bind-address=:2", "--namespaces=a,b-c", "--recheck-interval=5m"}, "memcached",
			options{healthProbeAddress: "127.0.0.1:1", metricsAddress: ":2", namespaces: []string{"a", "b-c"}, image: "memcached", recheckInterval: 5 * time.Minute}},
		{"both off", []string{"--health-probe-bind-address=0", "--metrics-bind-address=0"}, "",
			options{healthProbeAddress: "0", metricsAddress: "0", image: defaultImage}},
		{"image with registry and port", nil, "localhost:5000/memcached", options{healthProbeAddress: ":8081", metricsAddress: "0", image: "localhost:5000/memcached"}},
		{"image with digest", nil, "memcached@" + digest, options{healthProbeAddress: ":8081", metricsAddress: "0", image: "memcached@" + digest}},
		{"image with tag and digest", nil, "r.example.com:5000/a/b:1@" + digest, options{healthProbeAddress: ":8081", metricsAddress: "0", image: "r.example.com:5000/a/b:1@" + digest}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseOptions(test.arguments, environment(test.image), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if got.healthProbeAddress != test.want.healthProbeAddress || got.metricsAddress != test.want.metricsAddress ||
				got.recheckInterval != cmp.Or(test.want.recheckInterval, 30*time.Second) ||
				got.image != test.want.image || !slices.Equal(got.namespaces, test.want.namespaces) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestWrongOptions(t *testing.T) {
	for _, test := range []struct {
		name      string
		arguments []string
		image     string
		want      string
	}{
		{"unknown flag", []string{"--no-such-flag"}, "", "flag provided but not defined: -no-such-flag (--help lists the flags)"},
		{"argument", []string{"start"}, "", `unexpected argument "start"`},
		{"address", []string{"--metrics-bind-address=8080"}, "", `--metrics-bind-address "8080" is no address`},
		{"the same address twice", []string{"--metrics-bind-address=:8081"}, "", `are both ":8081"`},
		{"namespace", []string{"--namespaces=a,B"}, "", `"B" is no name of a namespace`},
		{"space between namespaces", []string{"--namespaces=a, b"}, "", `" b" is no name of a namespace`},
		{"comma at the end", []string{"--namespaces=a,"}, "", `"" is no name of a namespace`},
		{"namespace twice", []string{"--namespaces=a,b,a"}, "", `"a" is there twice`},
		{"recheck without a pause", []string{"--recheck-interval=0s"}, "", "--recheck-interval=0s would keep the operator busy"},
		{"log level", []string{"--zap-log-level=loud"}, "", `invalid log level "loud"`},
		{"image with a space", nil, "mem cached", `MEMCACHED_IMAGE="mem cached" is no image`},
		{"image in capitals", nil, "Memcached", "must be lowercase"},
		{"image with a short digest", nil, "memcached@sha256:0123", "is no image"},
		{"image that is a space", nil, " ", "is no image"},
		{"image without a name", nil, ":1.6", "is no image"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(test.arguments, environment(test.image), &stdout, &stderr); code != 2 {
				t.Errorf("exit code = %d, want 2", code)
			}
			text := stderr.String()
			if !strings.HasPrefix(text, "manager: ") || !strings.Contains(text, test.want) || strings.Count(text, "\n") != 1 {
				t.Errorf("stderr = %q, want one line that contains %q", text, test.want)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout = %q, want nothing", stdout.String())
			}
		})
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--help"}, environment(""), &stdout, &stderr); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	for _, want := range []string{"-namespaces", "-health-probe-bind-address", "-metrics-bind-address", "-kubeconfig", "-zap-log-level", imageVariable, defaultImage} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the help does not tell of %s", want)
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr = %q, want nothing", stderr.String())
	}
	if _, err := parseOptions([]string{"-h"}, environment(""), io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error = %v, want flag.ErrHelp", err)
	}
}

// environment is one in which only the image is set.
func environment(image string) func(string) string {
	return func(name string) string {
		if name == imageVariable {
			return image
		}
		return ""
	}
}
