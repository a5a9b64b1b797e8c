package embedded

import (
	"strings"
	"testing"
)

func TestEnvironmentLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	got := environment([]string{"PATH=/bin", "https_proxy=http://proxy", "HTTP_PROXY=x", "ALL_PROXY=x", "KUBECONFIG=/theirs", "KUBERNETES_SERVICE_HOST=10.0.0.1", "EMPTY="})
	if strings.Join(got, " ") != "PATH=/bin EMPTY=" {
		t.Errorf("expected PATH and EMPTY to be left, got %q", got)
	}
}
