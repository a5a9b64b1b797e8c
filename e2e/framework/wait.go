package framework

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/matchers"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

var errAbsent = errors.New("expected it to exist; last seen: it does not")

// WaitForObject waits until the object of obj's type, namespace and name exists and matches, and fills obj with it. The matcher gets
// an object of obj's type.
//
//	framework.WaitForObject(ctx, s, memcached, HaveField("Status.Nodes", HaveLen(3)))
func WaitForObject(ctx context.Context, s *Scope, obj client.Object, matcher types.GomegaMatcher) {
	s.Helper()
	waitForObject(ctx, s, obj, func(found client.Object) error {
		err := match(found, matcher)
		if err == nil {
			reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(found).Elem())
		}
		return err
	})
}

// ObjectsInput selects the objects that [WaitForObjects] waits for.
type ObjectsInput struct {
	// List is an empty list of the kind, such as &corev1.PodList{}.
	List client.ObjectList
	// Options narrow the list, for example to a namespace.
	Options []client.ListOption
	// Matcher gets the objects as a []client.Object, sorted by namespace and name.
	Matcher types.GomegaMatcher
}

// WaitForObjects waits until the objects that the list and its options select match.
func WaitForObjects(ctx context.Context, s *Scope, in ObjectsInput) {
	s.Helper()
	settle(ctx, s, describeList(in.List, in.Options), in.List, in.Options, func(objects []client.Object) error {
		return match(objects, in.Matcher)
	})
}

// WaitForDeletion waits until no object of these types, namespaces and names exists. For namespaces, it waits at least as long as
// [Converge], because the namespace controller waits five seconds before it looks at one, and as long again for pods that had to stop
// first.
func WaitForDeletion(ctx context.Context, s *Scope, objs ...client.Object) {
	s.Helper()
	for _, obj := range objs {
		list, subject := listOf(s, obj)
		waiting := s
		if _, is := obj.(*corev1.Namespace); is {
			waiting = s.Patient(Converge)
		}
		settle(ctx, waiting, subject, list, watch.Named(client.ObjectKeyFromObject(obj)), noneLeft)
	}
}

// WaitForServiceAccount waits until pods can run in a namespace that a test has created, which means until its ServiceAccount "default"
// exists. A feature's own namespace has it from the start.
func WaitForServiceAccount(ctx context.Context, s *Scope, namespace string) {
	s.Helper()
	s.must(untilServiceAccount(ctx, s.Client, namespace))
}

// WaitForNone waits until no object of the list's kind exists that the options select.
//
//	framework.WaitForNone(ctx, s, &corev1.PodList{}, client.InNamespace(s.Namespace))
func WaitForNone(ctx context.Context, s *Scope, list client.ObjectList, opts ...client.ListOption) {
	s.Helper()
	settle(ctx, s, describeList(list, opts), list, opts, noneLeft)
}

// WaitFor repeats a check until it returns no error, for states that can't be watched, such as a port, a file, or what the API server would
// allow. The failure's message consists of the subject and the last error: "expected %s; last seen: %s".
func WaitFor(ctx context.Context, s *Scope, subject string, ask func(context.Context) error) {
	s.Helper()
	p := newPatience(ctx, s, subject)
	defer p.stop()
	for range watch.Poll(p.over, askAgain) {
		if p.done(ask(p.asking)) {
			return
		}
	}
	s.Fatalf("%s", p.failure())
}

// settle waits until accept returns nil for the listed objects, and fails the test with accept's last error otherwise. accept is
// called for every change, in the order in which the API server made them. The subject begins the message.
func settle(ctx context.Context, s *Scope, subject string, list client.ObjectList, opts []client.ListOption, accept func([]client.Object) error) {
	s.Helper()
	p := newPatience(ctx, s, subject)
	defer p.stop()
	for state, err := range watch.Follow(p.over, patientClient{s.Client, p.asking}, list, opts...) {
		if err == nil {
			err = accept(state.Objects())
		}
		if p.done(err) {
			return
		}
	}
	s.Fatalf("%s", p.failure())
}

// waitForObject is settle for the object of obj's type, namespace and name, which must exist.
func waitForObject(ctx context.Context, s *Scope, obj client.Object, accept func(client.Object) error) {
	s.Helper()
	list, subject := listOf(s, obj)
	settle(ctx, s, subject, list, watch.Named(client.ObjectKeyFromObject(obj)), func(objects []client.Object) error {
		if len(objects) == 0 {
			return errAbsent
		}
		return accept(objects[0])
	})
}

func noneLeft(objects []client.Object) error {
	if len(objects) == 0 {
		return nil
	}
	var left []string
	for _, object := range objects {
		left = append(left, fmt.Sprintf("%s (deletionTimestamp %v, finalizers %v)",
			client.ObjectKeyFromObject(object), object.GetDeletionTimestamp(), object.GetFinalizers()))
	}
	return fmt.Errorf("expected it to be gone; last seen: %s", strings.Join(left, ", "))
}

// match returns gomega's message where the matcher does not match.
func match(actual any, matcher types.GomegaMatcher) error {
	ok, err := matcher.Match(actual)
	if err != nil || ok {
		return err
	}
	if _, isOr := matcher.(*matchers.OrMatcher); isOr { // whose own message has no words for the others
		return errors.New(format.Message(actual, "to "+describeMatcher(matcher)))
	}
	return errors.New(matcher.FailureMessage(actual))
}

// listOf returns an empty list of obj's kind, whose items have obj's type, and obj's name as users of kubectl write it: "Deployment
// ns/name".
func listOf(s *Scope, obj client.Object) (list client.ObjectList, subject string) {
	s.Helper()
	gvk, err := apiutil.GVKForObject(obj, s.Client.Scheme())
	if err != nil {
		s.Fatalf("asserting on a %T: %v; add its types to the suite's scheme", obj, err)
	}
	list = watch.ListOf(gvk)
	if _, ok := obj.(*unstructured.Unstructured); !ok {
		typed, err := s.Client.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		s.must(err)
		list = typed.(client.ObjectList)
	}
	return list, gvk.Kind + " " + strings.TrimPrefix(client.ObjectKeyFromObject(obj).String(), "/")
}

// describeList reads like "v1.PodList in ns with app=memcached".
func describeList(list client.ObjectList, opts []client.ListOption) string {
	var o client.ListOptions
	o.ApplyOptions(opts)
	what := strings.TrimPrefix(fmt.Sprintf("%T", list), "*")
	if kind := list.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		what = kind
	}
	if o.Namespace != "" {
		what += " in " + o.Namespace
	}
	if o.LabelSelector != nil && !o.LabelSelector.Empty() {
		what += " with " + o.LabelSelector.String()
	}
	return what
}
