package v1alpha1

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/12-certificates/api/v1alpha1"
)

// scalePath is the path of the webhook for the scale subresource, through which kubectl scale and autoscalers change the size.
const scalePath = "/validate-cache-example-com-v1alpha1-memcached-scale"

// The match conditions in config/webhook limit the requests that the API server sends to these webhooks.

// +kubebuilder:webhook:path=/mutate-cache-example-com-v1alpha1-memcached,mutating=true,failurePolicy=fail,sideEffects=None,groups=cache.example.com,resources=memcacheds,verbs=create;update,versions=v1alpha1,name=mmemcached-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-cache-example-com-v1alpha1-memcached,mutating=false,failurePolicy=fail,sideEffects=None,groups=cache.example.com,resources=memcacheds,verbs=create;update;delete,versions=v1alpha1,name=vmemcached-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5
// +kubebuilder:webhook:path=/validate-cache-example-com-v1alpha1-memcached-scale,mutating=false,failurePolicy=fail,sideEffects=None,groups=cache.example.com,resources=memcacheds/scale,verbs=update,versions=v1alpha1,name=vmemcachedscale-v1alpha1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

// SetupWebhookWithManager registers the admission webhooks for Memcacheds. maxTotalSize limits the sum of sizes in a namespace; 0
// means no limit.
func SetupWebhookWithManager(manager ctrl.Manager, maxTotalSize int64) error {
	validator := &Validator{
		// The cache may be behind, and two Memcacheds that a user creates one right after the other must both count.
		Reader:       manager.GetAPIReader(),
		MaxTotalSize: maxTotalSize,
	}
	return errors.Join(
		ctrl.NewWebhookManagedBy(manager, &cachev1alpha1.Memcached{}).
			WithDefaulter(&Defaulter{}).
			WithValidator(validator).
			Complete(),
		ctrl.NewWebhookManagedBy(manager, &autoscalingv1.Scale{}).
			WithValidator(&ScaleValidator{Validator: validator}).
			WithValidatorCustomPath(scalePath).
			Complete(),
	)
}

// Defaulter records who created a Memcached.
type Defaulter struct{}

// Default implements admission.Defaulter.
func (*Defaulter) Default(ctx context.Context, mc *cachev1alpha1.Memcached) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	if request.Operation == admissionv1.Create {
		mc.Annotations = recordCreator(mc.Annotations, request.UserInfo.Username)
		return nil
	}
	before := &cachev1alpha1.Memcached{}
	if err := json.Unmarshal(request.OldObject.Raw, before); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("read the Memcached as it was: %v", err))
	}
	mc.Annotations = keepCreator(before.Annotations, mc.Annotations)
	return nil
}

// Validator validates Memcacheds, together with the other Memcacheds of their namespace.
type Validator struct {
	// Reader lists Memcacheds. It is used only when a Memcached grows and there is a limit.
	Reader client.Reader
	// MaxTotalSize limits the sum of sizes in a namespace; 0 means no limit.
	MaxTotalSize int64
}

// ValidateCreate implements admission.Validator.
func (v *Validator) ValidateCreate(ctx context.Context, mc *cachev1alpha1.Memcached) (admission.Warnings, error) {
	tooLarge, err := v.checkGrowth(ctx, mc.Namespace, mc.Name, 0, sizeOf(mc))
	if err != nil {
		return nil, err
	}
	return nil, invalid(mc.Name, checkProtection(nil, mc.Annotations), tooLarge)
}

// ValidateUpdate implements admission.Validator.
func (v *Validator) ValidateUpdate(ctx context.Context, before, after *cachev1alpha1.Memcached) (admission.Warnings, error) {
	tooLarge, err := v.checkGrowth(ctx, after.Namespace, after.Name, sizeOf(before), sizeOf(after))
	if err != nil {
		return nil, err
	}
	var warnings admission.Warnings
	if warning := warnOfRestart(before, after); warning != "" {
		warnings = append(warnings, warning)
	}
	return warnings, invalid(after.Name, checkProtection(before.Annotations, after.Annotations), tooLarge)
}

// ValidateDelete implements admission.Validator.
func (v *Validator) ValidateDelete(ctx context.Context, mc *cachev1alpha1.Memcached) (admission.Warnings, error) {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, err
	}
	return nil, invalid(mc.Name, checkDeletion(mc.Annotations, request.UserInfo.Username))
}

// checkGrowth returns why a Memcached can't grow, or nil. A Memcached may always shrink or keep its size, even where the limit
// was lowered in the meantime.
func (v *Validator) checkGrowth(ctx context.Context, namespace, name string, before, after int32) (*field.Error, error) {
	if v.MaxTotalSize == 0 || after <= before {
		return nil, nil
	}
	list := &cachev1alpha1.MemcachedList{}
	if err := v.Reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("sum up the sizes in namespace %s: %w", namespace, err))
	}
	return checkTotalSize(v.MaxTotalSize, name, after, list.Items), nil
}

// ScaleValidator validates changes of size through the scale subresource, for which the API server sends a Scale instead of a
// Memcached.
type ScaleValidator struct {
	*Validator
}

// ValidateCreate implements admission.Validator. A Scale is never created.
func (*ScaleValidator) ValidateCreate(context.Context, *autoscalingv1.Scale) (admission.Warnings, error) {
	return nil, nil
}

// ValidateUpdate implements admission.Validator.
func (v *ScaleValidator) ValidateUpdate(ctx context.Context, before, after *autoscalingv1.Scale) (admission.Warnings, error) {
	tooLarge, err := v.checkGrowth(ctx, after.Namespace, after.Name, before.Spec.Replicas, after.Spec.Replicas)
	if err != nil {
		return nil, err
	}
	return nil, invalid(after.Name, tooLarge)
}

// ValidateDelete implements admission.Validator. A Scale is never deleted.
func (*ScaleValidator) ValidateDelete(context.Context, *autoscalingv1.Scale) (admission.Warnings, error) {
	return nil, nil
}

// invalid returns one error with all the reasons that are not nil, or nil if there are none.
func invalid(name string, reasons ...*field.Error) error {
	var errs field.ErrorList
	for _, reason := range reasons {
		if reason != nil {
			errs = append(errs, reason)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(cachev1alpha1.GroupVersion.WithKind("Memcached").GroupKind(), name, errs)
}
