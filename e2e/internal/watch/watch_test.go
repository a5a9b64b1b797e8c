package watch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/internal/watch"
)

// answer is what the API server answers to a list, or to a watch with events after which the watch ends.
type answer struct {
	version string // of a list
	pods    []corev1.Pod
	events  []apiwatch.Event
	err     error
}

// server answers one request after the other, and notes what it was asked. The last answer is followed by a watch without end.
type server struct {
	client.WithWatch
	answers []answer
	asked   []string
}

func (s *server) next() (answer, bool) {
	if len(s.answers) == 0 {
		return answer{}, false
	}
	first := s.answers[0]
	s.answers = s.answers[1:]
	return first, true
}

func (s *server) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	a, _ := s.next()
	s.asked = append(s.asked, "list")
	into.(*corev1.PodList).Items = a.pods
	into.SetResourceVersion(a.version)
	return a.err
}

func (s *server) Watch(_ context.Context, _ client.ObjectList, opts ...client.ListOption) (apiwatch.Interface, error) {
	var o client.ListOptions
	o.ApplyOptions(opts)
	s.asked = append(s.asked, "watch "+o.Namespace+" from "+o.Raw.ResourceVersion)
	a, more := s.next()
	w := apiwatch.NewFakeWithChanSize(len(a.events), false)
	for _, event := range a.events {
		w.Action(event.Type, event.Object)
	}
	if more {
		w.Stop()
	}
	return w, a.err
}

func pod(name string, version int) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(version)}}
}

func event(kind apiwatch.EventType, name string, version int) apiwatch.Event {
	p := pod(name, version)
	return apiwatch.Event{Type: kind, Object: &p}
}

// describe reads like "b@12 a@13-: b": the new versions, with a "-" after the last one of an object, and what exists.
func describe(state watch.State, err error) string {
	if err != nil {
		return err.Error()
	}
	var words, names []string
	for _, v := range state.New {
		word := v.Object.GetName() + "@" + v.Object.GetResourceVersion()
		if v.Deleted {
			word += "-"
		}
		words = append(words, word)
	}
	for _, object := range state.Objects() {
		names = append(names, object.GetName())
	}
	return strings.Join(words, " ") + ": " + strings.Join(names, " ")
}

func TestFollow(t *testing.T) {
	refused := errors.New("connection refused")
	expired := apierrors.NewResourceExpired("compacted")
	gone := expired.Status()
	undecodable := apierrors.NewInternalError(errors.New("unable to decode an event")).Status()
	first := answer{version: "10", pods: []corev1.Pod{pod("b", 7), pod("a", 8)}}
	for name, tc := range map[string]struct {
		answers []answer
		states  []string
		asked   []string
	}{
		"each version in order": {
			[]answer{first, {events: []apiwatch.Event{event(apiwatch.Modified, "a", 11), event(apiwatch.Bookmark, "", 12), event(apiwatch.Added, "c", 13), event(apiwatch.Deleted, "b", 14)}}},
			[]string{"b@7 a@8: a b", "a@11: a b", "c@13: a b c", "b@14-: a c"},
			[]string{"list", "watch demo from 10", "watch demo from 14"},
		},
		"a watch that ends is continued": {
			[]answer{first, {}, {events: []apiwatch.Event{event(apiwatch.Modified, "a", 11)}}},
			[]string{"b@7 a@8: a b", "a@11: a b"},
			[]string{"list", "watch demo from 10", "watch demo from 10", "watch demo from 11"},
		},
		"an API server that is away": {
			[]answer{{err: refused}, first, {err: refused}, {events: []apiwatch.Event{event(apiwatch.Modified, "a", 11)}}},
			[]string{"listing failed: connection refused", "b@7 a@8: a b", "watching failed: connection refused", "a@11: a b"},
			[]string{"list", "list", "watch demo from 10", "watch demo from 10", "watch demo from 11"},
		},
		"a watch gets 410": {
			[]answer{first, {events: []apiwatch.Event{event(apiwatch.Modified, "a", 11), {Type: apiwatch.Error, Object: &gone}}}, {version: "20", pods: []corev1.Pod{pod("a", 15)}}},
			[]string{"b@7 a@8: a b", "a@11: a b", "watching failed: compacted", "a@15 b@20-: a"},
			[]string{"list", "watch demo from 10", "list", "watch demo from 20"},
		},
		"a request for a watch is answered with 410": {
			[]answer{first, {err: expired}, {err: refused}, {version: "20"}},
			[]string{"b@7 a@8: a b", "watching failed: compacted", "listing failed: connection refused", "a@20- b@20-: "},
			[]string{"list", "watch demo from 10", "list", "list", "watch demo from 20"},
		},
		"a connection that breaks within an event": {
			[]answer{first, {events: []apiwatch.Event{{Type: apiwatch.Error, Object: &undecodable}}}},
			[]string{"b@7 a@8: a b", "watching failed: Internal error occurred: unable to decode an event"},
			[]string{"list", "watch demo from 10", "watch demo from 10"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{answers: tc.answers}
			var states []string
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for state, err := range watch.Follow(ctx, endless{s, cancel}, &corev1.PodList{}, client.InNamespace("demo")) {
				states = append(states, describe(state, err))
			}
			if got, want := strings.Join(states, "\n"), strings.Join(tc.states, "\n"); got != want {
				t.Errorf("it yields\n%s\nexpected\n%s", got, want)
			}
			if got, want := strings.Join(s.asked, ", "), strings.Join(tc.asked, ", "); got != want {
				t.Errorf("it asks: %s; expected: %s", got, want)
			}
		})
	}
}

// endless ends the test when a watch without end begins.
type endless struct {
	*server
	cancel func()
}

func (e endless) Watch(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (apiwatch.Interface, error) {
	if len(e.answers) == 0 {
		defer e.cancel()
	}
	return e.server.Watch(ctx, list, opts...)
}

func TestFollowEndsWithItsContextOrItsLoop(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{canceled, t.Context()} {
		for _, a := range []answer{{version: "10"}, {err: errors.New("connection refused")}} {
			s := &server{answers: []answer{a}}
			states := 0
			for _, err := range watch.Follow(ctx, s, &corev1.PodList{}) {
				if !errors.Is(err, a.err) {
					t.Errorf("it yields %v, expected %v", err, a.err)
				}
				if states++; ctx.Err() == nil {
					break
				}
			}
			if states != 1 || len(s.asked) != 1 {
				t.Errorf("it yields %d times after %v, expected once, after a list", states, s.asked)
			}
		}
	}
}

func TestPoll(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	for range watch.Poll(ctx, time.Nanosecond) {
		if asked++; asked == 3 {
			cancel()
		}
	}
	for range watch.Poll(ctx, time.Hour) { // once, however late
		asked++
	}
	for range watch.Poll(t.Context(), time.Hour) {
		asked++
		break
	}
	if asked != 5 {
		t.Errorf("it asks %d times, expected 5", asked)
	}
}
