package framework

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Condition describes an expected condition in an object's status.
type Condition struct {
	// Type is the condition's type, such as "Available".
	Type string
	// Status must be equal.
	Status metav1.ConditionStatus
	// Reason must be equal, unless it is empty.
	Reason string
	// Message must be part of the condition's message, unless it is empty.
	Message string
}

// String returns the condition as text for a message, such as `Available=True/AllReplicasReady "message"`.
func (c Condition) String() string {
	text := fmt.Sprintf("%s=%s", c.Type, c.Status)
	if c.Reason != "" {
		text += "/" + c.Reason
	}
	if c.Message != "" {
		text += fmt.Sprintf(" %q", c.Message)
	}
	return text
}

// WaitForConditions waits until the status of the object of obj's type, namespace and name has all of these conditions at once, each
// computed for the object's current generation. A condition without observedGeneration does not count, because it does not say which spec
// it describes. Conditions do not count while the operator under test is not ready, because it may have written them long ago.
// WaitForConditions does not change obj.
func WaitForConditions(ctx context.Context, s *Scope, obj client.Object, conditions ...Condition) {
	s.Helper()
	for {
		waitForConditions(ctx, s, obj, conditions)
		if s.ready(ctx) == nil {
			return
		}
		WaitFor(ctx, s, "the operator", func(ctx context.Context) error {
			if err := s.ready(ctx); err != nil {
				return fmt.Errorf("expected it to be ready, because a status is worth nothing otherwise; last seen: %w", err)
			}
			return nil
		})
	}
}

// ready returns why the operator under test is not ready, or nil where there is none. One that runs in pods is a kubelet's to probe.
func (s *Scope) ready(ctx context.Context) error {
	switch {
	case s.probe != nil:
		return s.probe(ctx)
	case s.Operator == nil || s.Deployed != nil:
		return nil
	}
	return s.Operator.Ready(ctx)
}

// waitForConditions is WaitForConditions whether the operator is ready or not.
func waitForConditions(ctx context.Context, s *Scope, obj client.Object, conditions []Condition) {
	s.Helper()
	waitForObject(ctx, s, obj, func(found client.Object) error {
		seen, err := ConditionsOf(found)
		if err != nil {
			return err
		}
		generation := found.GetGeneration()
		for _, want := range conditions {
			if !want.holds(seen, generation) {
				return fmt.Errorf("expected %s of generation %d; last seen: %s", want, generation, DescribeConditions(seen))
			}
		}
		return nil
	})
}

func (c Condition) holds(conditions []metav1.Condition, generation int64) bool {
	seen := meta.FindStatusCondition(conditions, c.Type)
	return seen != nil && seen.Status == c.Status &&
		(c.Reason == "" || seen.Reason == c.Reason) &&
		strings.Contains(seen.Message, c.Message) &&
		seen.ObservedGeneration == generation
}

// ConditionsOf returns status.conditions of an object whose conditions are metav1.Conditions. Without conditions it returns nil and no
// error; conditions of another form are an error.
func ConditionsOf(obj client.Object) ([]metav1.Condition, error) {
	var typed struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &typed)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the conditions of %s: %w", client.ObjectKeyFromObject(obj), err)
	}
	return typed.Status.Conditions, nil
}

// IsTrue reports whether the object's status has the condition with the status True, for any generation. If the conditions can't be read,
// it is false.
func IsTrue(obj client.Object, conditionType string) bool {
	conditions, err := ConditionsOf(obj)
	return err == nil && meta.IsStatusConditionTrue(conditions, conditionType)
}

// DescribeConditions returns the conditions as text for a message: `Available=False/Creating (generation 2) "1 of 3 pods is ready", ...`.
func DescribeConditions(conditions []metav1.Condition) string {
	if len(conditions) == 0 {
		return "no conditions"
	}
	var texts []string
	for _, c := range conditions {
		texts = append(texts, fmt.Sprintf("%s=%s/%s (generation %d) %q", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message))
	}
	return strings.Join(texts, ", ")
}
