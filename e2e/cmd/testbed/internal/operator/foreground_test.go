package operator_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/runner"
)

// TestForegroundWithWebhooks runs an operator that has webhooks in the foreground: beside one that makes way, and alone. The
// API server must never be left with a configuration that leads to nobody.
func TestForegroundWithWebhooks(t *testing.T) {
	cluster, root := upFor(t)
	manifests, err := runner.Render(filepath.Join(root, "e2e", "runner", "testdata", "webhooks"))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	program := operator.Program{Binary: filepath.Join(work, "gatekeeper"), Manifests: manifests}
	if err := runner.Build(t.Context(), root, "./e2e/runner/internal/gatekeeper", program.Binary); err != nil {
		t.Fatal(err)
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("gatekeeper", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for variable, content := range map[string][]byte{"TLS_CERT_FILE": certificate, "TLS_KEY_FILE": key} {
		path := filepath.Join(work, variable)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, path)
	}
	c, err := client.New(cluster.KubernetesRestConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}

	// installed returns the port that the configuration leads to; 0 if there is none.
	installed := func() int32 {
		t.Helper()
		var list admissionregistrationv1.ValidatingWebhookConfigurationList
		if err := c.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			return 0
		}
		return *list.Items[0].Webhooks[0].ClientConfig.Service.Port
	}
	answered := func(when string) {
		t.Helper()
		conn, err := tls.Dial("tcp", fmt.Sprintf("localhost:%d", installed()), &tls.Config{InsecureSkipVerify: true}) // only who answers matters
		if err != nil {
			t.Fatalf("%s: nobody answers at the port that the configuration names: %v", when, err)
		}
		conn.Close()
	}
	foreground := func() {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		err := operator.Foreground{
			Cluster: "testbed", Config: cluster.KubernetesRestConfig(), Beside: cluster.Supervisor(), Program: program, Log: io.Discard,
			Say: func(format string, _ ...any) {
				if strings.Contains(format, "is ready") {
					answered("in the foreground")
					stop()
				}
			},
		}.Run(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("the foreground run ended with %v", err)
		}
	}

	foreground()
	if port := installed(); port != 0 {
		t.Errorf("nothing runs any more, and the configuration still leads to port %d", port)
	}
	if _, err := operator.Ensure(t.Context(), cluster.KubernetesRestConfig(), cluster.Supervisor(), program); err != nil {
		t.Fatal(err)
	}
	answered("beside the cluster")
	foreground()
	answered("when the one beside the cluster is back")
}
