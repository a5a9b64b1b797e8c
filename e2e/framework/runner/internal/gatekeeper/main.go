// Command gatekeeper is an operator for the tests of package runner: it has flags, probes, metrics and admission webhooks as
// kubebuilder's operators have them, and does nothing else. It refuses what has "forbidden" in its data, and signs what it sees
// with its process id.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	health := flag.String("health-probe-bind-address", ":8081", "the address of /readyz")
	metrics := flag.String("metrics-bind-address", "0", "the address of /metrics")
	webhook := flag.String("webhook-bind-address", "", "the address of the webhooks")
	flag.Parse()

	ended := make(chan error)
	if *metrics != "0" {
		mux := http.NewServeMux()
		mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
			served := 0
			if *webhook != "" {
				served = 1
			}
			fmt.Fprintf(w, "gatekeeper_webhook_served %d\n", served)
		})
		listener, err := net.Listen("tcp", *metrics)
		if err != nil {
			log.Fatal(err)
		}
		go func() { ended <- http.Serve(listener, mux) }()
	}
	if os.Getenv("ENABLE_WEBHOOKS") != "false" {
		listener, err := webhookListener(*webhook)
		if err != nil {
			log.Fatal(err)
		}
		go func() { ended <- http.Serve(listener, webhooks()) }()
	}
	// Last, for it says that all the others are there.
	go func() {
		ended <- http.ListenAndServe(*health, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	}()
	log.Fatal(<-ended)
}

// webhookListener serves TLS with the certificate that the environment names.
func webhookListener(address string) (net.Listener, error) {
	certificate, err := tls.LoadX509KeyPair(os.Getenv("TLS_CERT_FILE"), os.Getenv("TLS_KEY_FILE"))
	if err != nil {
		return nil, err
	}
	return tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{certificate}})
}

func webhooks() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/sign", &admission.Webhook{Handler: admission.HandlerFunc(sign)})
	mux.Handle("/check", &admission.Webhook{Handler: admission.HandlerFunc(check)})
	return mux
}

func sign(_ context.Context, request admission.Request) admission.Response {
	var object corev1.ConfigMap
	if err := json.Unmarshal(request.Object.Raw, &object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations["signed-by"] = fmt.Sprint(os.Getpid())
	signed, err := json.Marshal(object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, signed)
}

func check(_ context.Context, request admission.Request) admission.Response {
	var object corev1.ConfigMap
	if err := json.Unmarshal(request.Object.Raw, &object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if reason, ok := object.Data["forbidden"]; ok {
		return admission.Denied("data.forbidden: the gatekeeper does not like it: " + reason)
	}
	return admission.Allowed("")
}
