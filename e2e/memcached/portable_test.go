package memcached

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/conformance"
	"github.com/example/operator-testbed/e2e/framework"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// portable are the checks that every Memcached operator must pass, this one too.
var portable = conformance.Checks{Operator: typed{}}

// typed is this operator by its own types.
type typed struct{}

// Describe says what the API calls what.
func (typed) Describe() conformance.API {
	return conformance.API{
		Fields: conformance.Fields{Size: "spec.size", Port: "spec.containerPort"},
		Conditions: conformance.Conditions{
			Available: cachev1alpha1.ConditionAvailable, Progressing: cachev1alpha1.ConditionProgressing, Degraded: cachev1alpha1.ConditionDegraded,
		},
		Reasons: conformance.Reasons{
			Foreign: cachev1alpha1.ReasonNameTaken, Quota: cachev1alpha1.ReasonQuotaExceeded, Paused: cachev1alpha1.ReasonDeploymentPaused,
		},
		Deployment:   "{name}",
		DeadlineArgs: []string{"--progress-deadline=1s"},
	}
}

// New returns a Memcached.
func (typed) New(namespace, name string, size, port int32) client.Object {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: &size, ContainerPort: &port},
	}
}

// also returns a check as a step of a feature about a Memcached of its own, which the check leaves alone.
func also(check framework.Step) framework.StepOf[*cachev1alpha1.Memcached] {
	return func(ctx context.Context, s *framework.Scope, _ *cachev1alpha1.Memcached) { check(ctx, s) }
}

// Resize sets spec.size.
func (typed) Resize(object client.Object, size int32) {
	object.(*cachev1alpha1.Memcached).Spec.Size = &size
}

// SetPort sets spec.containerPort.
func (typed) SetPort(object client.Object, port int32) {
	object.(*cachev1alpha1.Memcached).Spec.ContainerPort = &port
}
