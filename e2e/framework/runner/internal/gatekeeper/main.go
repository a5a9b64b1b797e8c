// Command gatekeeper is an operator for the tests of package runner: it has flags, probes, metrics and admission webhooks as
// kubebuilder's operators have them, and does nothing else. It refuses what has "forbidden" in its data, and signs what it sees
// or converts with its process id. With a GATEKEEPER_PORT it serves its webhooks there, with a certificate from where controller-runtime looks for
// one, and no flag says otherwise.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	health := flag.String("health-probe-bind-address", ":8081", "the address of /readyz")
	metrics := flag.String("metrics-bind-address", "0", "the address of /metrics")
	webhook, certificate, key := ":"+os.Getenv("GATEKEEPER_PORT"), os.Getenv("TLS_CERT_FILE"), os.Getenv("TLS_KEY_FILE")
	if webhook == ":" {
		flag.StringVar(&webhook, "webhook-bind-address", "", "the address of the webhooks")
	} else {
		directory := filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
		certificate, key = filepath.Join(directory, "tls.crt"), filepath.Join(directory, "tls.key")
	}
	flag.Parse()
	served := 1
	if os.Getenv("ENABLE_WEBHOOKS") == "false" {
		served = 0
	}

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
				fmt.Fprintf(w, "gatekeeper_webhook_served %d\n", served)
			}))
		})
	}
	if served > 0 {
		listen(webhook, func(l net.Listener) error { return http.ServeTLS(l, webhooks(), certificate, key) })
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
	mux.HandleFunc("/convert", convert)
	return mux
}

// convert gives objects the version that the API server asks for, and signs them.
func convert(w http.ResponseWriter, r *http.Request) {
	review := apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, object := range review.Request.Objects {
		converted := &unstructured.Unstructured{}
		if err := converted.UnmarshalJSON(object.Raw); err != nil {
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
		}
		converted.SetAPIVersion(review.Request.DesiredAPIVersion)
		converted.SetAnnotations(map[string]string{"signed-by": strconv.Itoa(os.Getpid())})
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: converted})
	}
	review.Request, review.Response = nil, response
	_ = json.NewEncoder(w).Encode(review)
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
