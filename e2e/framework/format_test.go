package framework

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestFailuresNameObjects formats what a failed assertion prints.
func TestFailuresNameObjects(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache-0", Labels: map[string]string{"app": "cache"}}}
	ticket := &unstructured.Unstructured{}
	ticket.SetKind("FlightTicket")
	ticket.SetName("way-back")
	var none *corev1.Pod
	for name, test := range map[string]struct {
		value any
		want  string
	}{
		"objects":    {[]client.Object{pod, ticket}, "FlightTicket /way-back,"},
		"a value":    {[]corev1.Pod{*pod}, "[Pod default/cache-0]"},
		"an error":   {apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "cache-0"), `pods "cache-0" not found`},
		"no error":   {(*apierrors.StatusError)(nil), "nil"},
		"no object":  {none, "nil"},
		"other text": {"cache", "<string>: cache"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			formatted := format.Object(test.value, 1)
			g.Expect(formatted).To(ContainSubstring(test.want))
			g.Expect(formatted).NotTo(Or(ContainSubstring("ObjectMeta"), ContainSubstring("ErrStatus")))
		})
	}
}
