package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/operator-testbed/e2e/loopback"
	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/tier"
)

// A catalog with two versions leads from the first to the second, as a client of OLM reads it.
func TestCatalog(t *testing.T) {
	tier.All(t)
	tools := sdk.Need(t, root)
	operator := copyOperator(t)
	first := filepath.Join(t.TempDir(), "0.1.0")
	if err := os.CopyFS(first, os.DirFS(filepath.Join(operator, "bundle"))); err != nil {
		t.Fatal(err)
	}
	makeTarget(t, tools, operator, "bundle", "VERSION=0.2.0")
	makeTarget(t, tools, operator, "catalog", "BUNDLES="+first+" bundle")

	client := serve(t, tools, filepath.Join(operator, "bin", "catalog"))
	name := field1("memcached-operator")
	packages := client.call(t, "GetPackage", name)
	if len(packages) != 1 || packages[0].text(1) != "memcached-operator" || packages[0].text(3) != "alpha" {
		t.Fatalf("the package is %v", packages)
	}
	channels := packages[0][2]
	if len(channels) != 1 {
		t.Fatalf("the package has %d channels, want 1", len(channels))
	}
	if channel := parse(t, channels[0]); channel.text(1) != "alpha" || channel.text(2) != "memcached-operator.v0.2.0" {
		t.Errorf("the channel and its newest version are %q and %q", channel.text(1), channel.text(2))
	}
	// name, version, what it replaces
	var got []string
	for _, bundle := range client.call(t, "ListBundles", nil) {
		got = append(got, strings.Join([]string{bundle.text(1), bundle.text(9), bundle.text(13)}, " "))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"memcached-operator.v0.1.0 0.1.0 ", "memcached-operator.v0.2.0 0.2.0 memcached-operator.v0.1.0"}, got); diff != "" {
		t.Errorf("bundles (-want +got):\n%s", diff)
	}
}

// A catalog that can't be right is refused, with a sentence that says what to do.
func TestFaultyCatalog(t *testing.T) {
	tier.All(t)
	tools := sdk.Need(t, root)
	operator := copyOperator(t)
	for bundles, want := range map[string]string{
		"bundle ./bundle": "memcached-operator.v0.1.0 is in two bundles: set VERSION to another one for the newer",
		"config":          "config is not a bundle: it has no metadata/annotations.yaml; make bundle writes one",
	} {
		output, err := makeCommand(t, tools, operator, "catalog", "BUNDLES="+bundles).CombinedOutput()
		if err == nil || !strings.Contains(string(output), want) {
			t.Errorf("make catalog BUNDLES=%q: %v\n%s\nwant: %s", bundles, err, output, want)
		}
	}
}

// A port that is taken, and tools that are missing, are reported with what to do.
func TestCatalogCanNotBeServed(t *testing.T) {
	tier.All(t)
	tools := sdk.Need(t, root)
	operator := copyOperator(t)
	taken, err := loopback.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := strings.Cut(taken.Addr().String(), ":")
	makeTarget(t, tools, operator, "catalog")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a taken port": {[]string{"catalog-serve", "CATALOG_PORT=" + port}, "if port " + port + " is taken, choose another, such as make catalog-serve CATALOG_PORT=50052"},
		"no opm":       {[]string{"catalog-serve", "OPM=no-opm"}, "no-opm is not on PATH: type make sdk in the root of operator-testbed, which builds it, and try again"},
		"no operator-sdk": {[]string{"bundle", "OPERATOR_SDK=no-operator-sdk"},
			"no-operator-sdk is not on PATH: type make sdk in the root of operator-testbed, which builds it, and try again"},
	} {
		output, err := makeCommand(t, tools, operator, test.args...).CombinedOutput()
		if err == nil || !strings.Contains(string(output), test.want) {
			t.Errorf("%s: %v\n%s\nwant: %s", name, err, output, test.want)
		}
	}
}

// registry is the address of a catalog that is served.
type registry string

// serve serves a catalog until the test is over.
func serve(t *testing.T, tools sdk.Tools, catalog string) registry {
	t.Helper()
	port, err := loopback.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	command := exec.CommandContext(ctx, tools.Path(sdk.OPM), "serve", catalog, "--port="+strconv.Itoa(port), "--pprof-addr=localhost:0", "--termination-log=")
	log, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = command.Wait() // it was killed
	})
	lines := bufio.NewScanner(log)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "serving registry") {
			go func() { _, _ = io.Copy(io.Discard, log) }() // so that it never waits for a reader
			return registry(fmt.Sprintf("http://127.0.0.1:%d", port))
		}
	}
	t.Fatalf("opm serve has exited:\n%s", strings.Join(said, "\n"))
	return ""
}

// call calls a method of the catalog's API, and returns the messages that it answers with. gRPC is HTTP/2 with a frame around each
// message: one byte that says whether it is compressed, and its length in four bytes.
func (r registry) call(t *testing.T, method string, message []byte) []fields {
	t.Helper()
	frame := append([]byte{0}, binary.BigEndian.AppendUint32(nil, uint32(len(message)))...)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, string(r)+"/api.Registry/"+method, bytes.NewReader(append(frame, message...)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var messages []fields
	for {
		var header [5]byte
		if _, err := io.ReadFull(response.Body, header[:]); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, binary.BigEndian.Uint32(header[1:]))
		if _, err := io.ReadFull(response.Body, body); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, parse(t, body))
	}
	if status := response.Trailer.Get("Grpc-Status"); status != "0" {
		t.Fatalf("%s: status %q, %s", method, status, response.Trailer.Get("Grpc-Message"))
	}
	return messages
}

// fields are the values of a protobuf message by their numbers, of those that are strings or messages.
type fields map[uint64][][]byte

func (f fields) text(number uint64) string { return string(bytes.Join(f[number], nil)) }

// field1 is a message whose only field, number 1, is a short string.
func field1(value string) []byte { return append([]byte{1<<3 | 2, byte(len(value))}, value...) }

func parse(t *testing.T, message []byte) fields {
	t.Helper()
	result := fields{}
	next := func() uint64 {
		value, n := binary.Uvarint(message)
		if n <= 0 {
			t.Fatalf("this is not a protobuf message: %q", message)
		}
		message = message[n:]
		return value
	}
	for len(message) > 0 {
		tag := next()
		switch value := next(); {
		case tag&7 == 0: // a number
		case tag&7 == 2 && value <= uint64(len(message)):
			result[tag>>3] = append(result[tag>>3], message[:value])
			message = message[value:]
		default:
			t.Fatalf("the field %d has an unexpected type or length", tag>>3)
		}
	}
	return result
}
