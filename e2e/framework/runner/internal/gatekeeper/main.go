// Command gatekeeper is an operator for the tests of package runner: it has flags, probes, metrics and admission webhooks as
// kubebuilder's operators have them, and does nothing else. It refuses what has "forbidden" in its data, and signs what it sees
// with its process id.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	health := flag.String("health-probe-bind-address", ":8081", "the address of /readyz")
	metrics := flag.String("metrics-bind-address", "0", "the address of /metrics")
	webhook := flag.String("webhook-bind-address", "", "the address of the webhooks")
	flag.Parse()

	ended := make(chan error)
	listen := func(address string, serve func(net.Listener) error) {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			log.Fatal(err)
		}
		go func() { ended <- serve(listener) }()
	}
	if *metrics != "0" {
		listen(*metrics, func(l net.Listener) error {
			return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, "gatekeeper_webhook_served %d\n", min(len(*webhook), 1))
			}))
		})
	}
	if os.Getenv("ENABLE_WEBHOOKS") != "false" {
		listen(*webhook, func(l net.Listener) error {
			return http.ServeTLS(l, webhooks(), os.Getenv("TLS_CERT_FILE"), os.Getenv("TLS_KEY_FILE"))
		})
	}
	// Last, for it says that all the others are there.
	listen(*health, func(l net.Listener) error {
		return http.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	})
	log.Fatal(<-ended)
}

func webhooks() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/sign", admission.WithDefaulter(clientgoscheme.Scheme, gatekeeper{}))
	mux.Handle("/check", admission.WithValidator(clientgoscheme.Scheme, gatekeeper{}))
	return mux
}

// gatekeeper judges ConfigMaps.
type gatekeeper struct{}

// Default signs the object.
func (gatekeeper) Default(_ context.Context, object *corev1.ConfigMap) error {
	metav1.SetMetaDataAnnotation(&object.ObjectMeta, "signed-by", strconv.Itoa(os.Getpid()))
	return nil
}

// ValidateCreate refuses what is forbidden.
func (gatekeeper) ValidateCreate(_ context.Context, object *corev1.ConfigMap) (admission.Warnings, error) {
	if reason, ok := object.Data["forbidden"]; ok {
		return nil, errors.New("data.forbidden: the gatekeeper does not like it: " + reason)
	}
	return nil, nil
}

// ValidateUpdate refuses what is forbidden.
func (g gatekeeper) ValidateUpdate(ctx context.Context, _, object *corev1.ConfigMap) (admission.Warnings, error) {
	return g.ValidateCreate(ctx, object)
}

// ValidateDelete refuses nothing.
func (gatekeeper) ValidateDelete(context.Context, *corev1.ConfigMap) (admission.Warnings, error) {
	return nil, nil
}
