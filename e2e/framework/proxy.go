package framework

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/loopback"
)

// Via returns a change with which the operator reaches the API server in the way that edit sets, until its next restart.
func (s *Scope) Via(ctx context.Context, edit func(*clientcmdapi.Cluster)) runner.Change {
	s.Helper()
	s.needs(!s.Operator.InPods(), "the operator runs in a pod, which reaches the API server as all pods do")
	account := strings.Split(s.Operator.UserName(), ":") // system:serviceaccount:NAMESPACE:NAME
	path := filepath.Join(s.TempDir(), "kubeconfig")
	s.must(runner.Kubeconfig(ctx, s.Config, client.ObjectKey{Namespace: account[2], Name: account[3]}, path))
	config, err := clientcmd.LoadFromFile(path)
	s.must(err)
	for _, cluster := range config.Clusters {
		edit(cluster)
	}
	s.must(clientcmd.WriteToFile(*config, path))
	return runner.WithEnv("KUBECONFIG=" + path)
}

// Proxied returns a change with which the operator reaches the API server through a proxy on this machine, until its next restart.
// intercept returns the handler of the proxy's requests, which forwards them with pass. The proxy stops when the test of the current step
// is done, so restart the operator without it before that, in a Cleanup that is registered later.
func (s *Scope) Proxied(ctx context.Context, intercept func(pass http.Handler) http.Handler) runner.Change {
	s.Helper()
	server, err := url.Parse(s.Config.Host)
	s.must(err)
	anonymous, err := rest.TransportFor(rest.AnonymousClientConfig(s.Config)) // the operator authenticates itself
	s.must(err)
	const host = "127.0.0.1"
	certificate, key, err := certutil.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	s.must(err)
	pair, err := tls.X509KeyPair(certificate, key)
	s.must(err)
	listener, err := loopback.Listen()
	s.must(err)
	proxy := &http.Server{
		Handler: intercept(&httputil.ReverseProxy{
			Transport:     anonymous,
			FlushInterval: -1, // the events of a watch are passed on at once
			Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(server) },
			// These errors are not worth a line in the test's output: a client ends a watch, or the API server is stopped on purpose.
			ErrorHandler: func(answer http.ResponseWriter, _ *http.Request, _ error) { answer.WriteHeader(http.StatusBadGateway) },
			ErrorLog:     log.New(io.Discard, "", 0),
		}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, // over plain HTTP, a client sends no token
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	s.Cleanup(func() { _ = proxy.Close() })
	go func() { _ = proxy.ServeTLS(listener, "", "") }()
	return s.Via(ctx, func(cluster *clientcmdapi.Cluster) {
		cluster.Server, cluster.TLSServerName = "https://"+listener.Addr().String(), ""
		cluster.CertificateAuthorityData = certificate
	})
}
