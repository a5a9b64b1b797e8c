package framework

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"
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

// TestFailuresDescribeMatchers formats matchers inside others, of which gomega prints the fields, with their addresses.
func TestFailuresDescribeMatchers(t *testing.T) {
	condition := And(HaveField("Type", "Available"), HaveField("Reason", Not(Equal("Gone"))))
	for _, test := range []struct {
		actual  any
		matcher types.GomegaMatcher
		want    string
	}{
		{[]string{"a"}, ContainElement(HavePrefix("b")), `have prefix "b"`},
		{[]string{"a"}, HaveExactElements(And(HaveLen(1), ContainSubstring("b"))), `have len 1 and contain substring "b"`},
		{[]metav1.Condition{{Type: "Ready"}}, ContainElement(condition), `have field "Type" "Available" and have field "Reason" not equal "Gone"`},
		{[]metav1.Condition{{Type: "Ready"}}, ConsistOf(condition, HaveField("Type", "Ready")), `have field "Type" "Ready"`},
		{[]int{1}, HaveEach(BeNumerically(">=", 2)), `be numerically ">=" [2]`},
		{1, Or(Equal(2), Equal(3)), "equal 2 or equal 3"},
		{map[string]string{"a": "b"}, HaveKeyWithValue("a", ContainSubstring("c")), `contain substring "c"`},
	} {
		g := NewWithT(t)
		err := match(test.actual, test.matcher)
		g.Expect(err).To(HaveOccurred())
		expected, seen := halves(err.Error())
		g.Expect(expected).To(And(ContainSubstring(test.want), Not(MatchRegexp(`0x|Matcher|cyclic`))), err.Error())
		g.Expect(seen).NotTo(BeEmpty())
	}
}
