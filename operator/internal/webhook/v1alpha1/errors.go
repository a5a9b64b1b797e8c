package v1alpha1

import (
	"context"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/example/operator-testbed/operator/internal/metrics"
)

// countingManager is a manager whose webhooks count their errors.
type countingManager struct{ ctrl.Manager }

// GetWebhookServer implements manager.Manager.
func (m countingManager) GetWebhookServer() webhook.Server {
	return countingServer{m.Manager.GetWebhookServer()}
}

type countingServer struct{ webhook.Server }

// Register implements webhook.Server.
func (s countingServer) Register(path string, hook http.Handler) {
	if w, ok := hook.(*admission.Webhook); ok {
		w.Handler = countErrors(path, w.Handler)
	}
	s.Server.Register(path, hook)
}

// countErrors returns a handler that counts what the other one could not decide. A request that is refused is decided.
func countErrors(path string, handler admission.Handler) admission.Handler {
	counter := metrics.WebhookErrors.WithLabelValues(path) // which is 0 from the start
	return admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
		failed := true // unless the handler returns
		defer func() {
			if failed {
				counter.Inc()
			}
		}()
		response := handler.Handle(ctx, request)
		failed = response.Result != nil && response.Result.Code >= http.StatusInternalServerError
		return response
	})
}
