package memcached

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/operator-testbed/e2e/framework"
)

// behindProxy restarts the operator, which reaches the API server by way of a proxy until its next restart; the proxy goes with
// the test. A wire breaks connections; a proxy knows requests. What becomes of one, intercept says, by the handler that passes it
// on.
func behindProxy(ctx context.Context, s *framework.Scope, intercept func(pass http.Handler) http.Handler) {
	s.Helper()
	server, err := url.Parse(s.Config.Host)
	if err != nil {
		s.Fatal(err)
	}
	anonymous, err := rest.TransportFor(rest.AnonymousClientConfig(s.Config)) // the operator says itself who it is
	if err != nil {
		s.Fatal(err)
	}
	proxy := httptest.NewUnstartedServer(intercept(&httputil.ReverseProxy{
		Transport:     anonymous,
		FlushInterval: -1, // what is watched is passed on at once
		Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(server) },
		// Not worth a line in the test's output: who ends a watch, or has no server at the moment, knows.
		ErrorHandler: func(answer http.ResponseWriter, _ *http.Request, _ error) { answer.WriteHeader(http.StatusBadGateway) },
	}))
	proxy.EnableHTTP2 = true
	proxy.StartTLS() // over plain HTTP, a client does not say who it is
	s.Cleanup(func() {
		restart(context.WithoutCancel(ctx), s)
		proxy.CloseClientConnections()
		proxy.Close()
	})
	restartVia(ctx, s, func(cluster *clientcmdapi.Cluster) {
		cluster.Server, cluster.TLSServerName = proxy.URL, ""
		cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	})
}
