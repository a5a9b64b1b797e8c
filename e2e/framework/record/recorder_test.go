package record_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/record"
)

var (
	pods     = corev1.SchemeGroupVersion.WithKind("Pod")
	services = corev1.SchemeGroupVersion.WithKind("Service")
)

// server is an API server that answers what a test sets.
type server struct {
	client.WithWatch
	// lists are what is listed of a kind, one after the other.
	lists map[string]chan list
	// watches are those that were begun of a kind. Nobody but the test sends to them, and each send waits for its receiver.
	watches map[string]chan begun
}

type list struct {
	revision string
	items    []unstructured.Unstructured
	err      error
	// then is called when it has been listed, if there is anything to do.
	then func()
}

type begun struct {
	*watch.FakeWatcher
	namespace, from string
}

func newServer(kinds ...schema.GroupVersionKind) *server {
	s := &server{lists: map[string]chan list{}, watches: map[string]chan begun{}}
	for _, kind := range kinds {
		s.lists[kind.Kind+"List"] = make(chan list, 2)
		s.watches[kind.Kind+"List"] = make(chan begun, 2)
	}
	return s
}

func (s *server) has(kind schema.GroupVersionKind, l list) { s.lists[kind.Kind+"List"] <- l }

// watched waits for the next watch of a kind.
func (s *server) watched(t *testing.T, kind schema.GroupVersionKind) begun {
	t.Helper()
	select {
	case w := <-s.watches[kind.Kind+"List"]:
		return w
	case <-time.After(10 * time.Minute):
		t.Fatalf("nobody watches %ss", kind.Kind)
		panic("unreachable")
	}
}

func (s *server) List(ctx context.Context, into client.ObjectList, _ ...client.ListOption) error {
	select {
	case l := <-s.lists[into.GetObjectKind().GroupVersionKind().Kind]:
		into.(*unstructured.UnstructuredList).Items = l.items
		into.SetResourceVersion(l.revision)
		if l.then != nil {
			l.then()
		}
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *server) Watch(_ context.Context, of client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	w := begun{FakeWatcher: watch.NewFake(), namespace: asked.Namespace, from: asked.Raw.ResourceVersion}
	s.watches[of.GetObjectKind().GroupVersionKind().Kind] <- w
	return w, nil
}

func object(kind, name string, revision int) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("v1")
	o.SetKind(kind)
	o.SetName(name)
	o.SetUID(types.UID("uid-of-" + name))
	o.SetResourceVersion(fmt.Sprint(revision))
	return o
}

// heard returns when all that was sent before is recorded: the recorder takes one event after the other.
func heard(w begun) {
	w.Action(watch.Bookmark, object("Any", "bookmark", 1))
}

// told is what was recorded, in a word for each version.
func told(versions []record.Version) string {
	var words []string
	for _, v := range versions {
		word := fmt.Sprintf("%s@%d", v.Object.GetName(), v.Revision)
		if v.Deleted {
			word += "-"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func start(t *testing.T, s *server, kinds ...schema.GroupVersionKind) *record.Recorder {
	t.Helper()
	r, err := record.Start(t.Context(), s, "feature", kinds...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

func expectTold(t *testing.T, r *record.Recorder, want string) {
	t.Helper()
	if got := told(r.Versions()); got != want {
		t.Errorf("recorded %s\nexpected %s", got, want)
	}
}

func TestVersionsAreInTheServersOrder(t *testing.T) {
	s := newServer(pods, services)
	s.has(pods, list{revision: "10", items: []unstructured.Unstructured{*object("Pod", "a", 7)}})
	s.has(services, list{revision: "11", items: []unstructured.Unstructured{*object("Service", "s", 3)}})
	r := start(t, s, pods, services)

	pod, service := s.watched(t, pods), s.watched(t, services)
	if pod.from != "10" || service.from != "11" || pod.namespace != "feature" {
		t.Errorf("pods are watched from %s and services from %s in %s, expected from where each list ended, in feature", pod.from, service.from, pod.namespace)
	}
	// They arrive late and mixed.
	pod.Modify(object("Pod", "a", 15))
	pod.Delete(object("Pod", "a", 18))
	service.Modify(object("Service", "s", 12))
	// Typed objects are as good.
	pod.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "20"}})
	service.Modify(object("Service", "s", 16))
	heard(pod)
	heard(service)
	expectTold(t, r, "s@3 a@7 s@12 a@15 s@16 a@18- b@20")
}

func TestAWatchThatEndsIsTakenUp(t *testing.T) {
	s := newServer(pods)
	s.has(pods, list{revision: "10"})
	r := start(t, s, pods)

	first := s.watched(t, pods)
	first.Add(object("Pod", "a", 12))
	first.Stop()
	second := s.watched(t, pods)
	if second.from != "12" {
		t.Errorf("it goes on from %s, expected 12, the last version seen", second.from)
	}
	if !r.Complete() {
		t.Error("the record is not complete, although the watch goes on where it ended")
	}
	// The history was compacted: only a new list helps.
	s.has(pods, list{err: errors.New("the API server is away")})
	s.has(pods, list{revision: "30", items: []unstructured.Unstructured{*object("Pod", "a", 25)}})
	second.Add(object("Pod", "b", 13))
	second.Error(&metav1.Status{Code: 410})
	third := s.watched(t, pods)
	for third.from == "" { // asked while the server was away
		third.Error(&metav1.Status{Code: 410})
		third = s.watched(t, pods)
	}
	if third.from != "30" {
		t.Errorf("it goes on from %s, expected 30, where the list ended", third.from)
	}
	heard(third)
	expectTold(t, r, "a@12 b@13 a@25 b@30-")
	if r.Complete() {
		t.Error("the record is complete, although the API server has compacted its history")
	}
}

// TestSince waits for versions in the order in which they come.
func TestSince(t *testing.T) {
	s := newServer(pods)
	s.has(pods, list{revision: "10", items: []unstructured.Unstructured{*object("Pod", "a", 7)}})
	r := start(t, s, pods)
	pod := s.watched(t, pods)
	pod.Modify(object("Pod", "a", 15))
	pod.Add(object("Pod", "b", 12))
	heard(pod)
	for n, want := range []string{"a@7 a@15 b@12", "a@15 b@12", "b@12"} {
		if got, err := r.Since(t.Context(), n); err != nil || told(got) != want {
			t.Errorf("after %d versions: %s, %v; expected %s", n, told(got), err, want)
		}
	}
	go pod.Delete(object("Pod", "b", 16))
	var seen []record.Version
	if err := r.Until(t.Context(), 1, func(v record.Version) bool {
		seen = append(seen, v)
		return v.Deleted
	}); err != nil || told(seen) != "a@15 b@12 b@16-" {
		t.Errorf("waited for %s, %v; expected the end of b", told(seen), err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if err := r.Until(ctx, 4, func(record.Version) bool { return true }); !errors.Is(err, enough) {
		t.Errorf("waiting has ended with %v, expected %v", err, enough)
	}
}

func TestCaughtUp(t *testing.T) {
	s := newServer(pods, services)
	s.has(pods, list{revision: "10", items: []unstructured.Unstructured{*object("Pod", "a", 7), *object("Pod", "b", 8)}})
	s.has(services, list{revision: "11"})
	r := start(t, s, pods, services)
	pod, service := s.watched(t, pods), s.watched(t, services)

	// One of two pods has changed, the other one is gone, and there is a service: nothing of it has been told.
	ahead := func() {
		s.has(pods, list{revision: "20", items: []unstructured.Unstructured{*object("Pod", "a", 15)}})
		s.has(services, list{revision: "20", items: []unstructured.Unstructured{*object("Service", "s", 16)}})
	}
	ahead()
	caughtUp := make(chan string, 1)
	go func() {
		versions, err := r.CaughtUp(t.Context())
		if err != nil {
			t.Error(err)
		}
		caughtUp <- told(versions)
	}()
	for name, tell := range map[string]func(){
		"the change":  func() { pod.Modify(object("Pod", "a", 15)) },
		"the end":     func() { pod.Delete(object("Pod", "b", 17)) },
		"the service": func() { service.Add(object("Service", "s", 16)) },
	} {
		select {
		case versions := <-caughtUp:
			t.Fatalf("it has caught up before %s was sent: %s", name, versions)
		default:
		}
		tell()
	}
	if got, want := <-caughtUp, "a@7 b@8 a@15 s@16 b@17-"; got != want {
		t.Errorf("expected %s, got %s", want, got)
	}

	// Who is further than what was listed has caught up as well.
	pod.Modify(object("Pod", "a", 21))
	heard(pod)
	ahead()
	if _, err := r.CaughtUp(t.Context()); err != nil {
		t.Error(err)
	}
}

// A pod that is created while the recorder catches up with a list is not in that list, and has not gone.
func TestCaughtUpWhileMoreIsCreated(t *testing.T) {
	s := newServer(pods)
	s.has(pods, list{revision: "10"})
	r := start(t, s, pods)
	pod := s.watched(t, pods)
	s.has(pods, list{revision: "20", items: []unstructured.Unstructured{*object("Pod", "a", 15)}, then: func() {
		go func() {
			pod.Add(object("Pod", "b", 21))
			pod.Add(object("Pod", "a", 15))
		}()
	}})
	versions, err := r.CaughtUp(t.Context())
	if got, want := told(versions), "a@15 b@21"; err != nil || got != want {
		t.Errorf("expected %s, got %s, %v", want, got, err)
	}
}

func TestCaughtUpNamesWhatIsMissing(t *testing.T) {
	for want, items := range map[string][]unstructured.Unstructured{
		"revision 15 of a": {*object("Pod", "a", 15)},
		"revision 16 of c": {*object("Pod", "a", 7), *object("Pod", "c", 16)},
		"the end of a":     nil,
	} {
		s := newServer(pods)
		s.has(pods, list{revision: "10", items: []unstructured.Unstructured{*object("Pod", "a", 7)}})
		r := start(t, s, pods)
		ctx, cancel := context.WithCancelCause(t.Context())
		s.has(pods, list{revision: "20", items: items, then: func() { cancel(errors.New("time is up")) }})
		if _, err := r.CaughtUp(ctx); err == nil || err.Error() != "Pod in feature is not recorded yet: "+want+": time is up" {
			t.Errorf("expected that %s is missing, got %v", want, err)
		}
	}
}

func TestStopKeepsWhatWasRecorded(t *testing.T) {
	s := newServer(pods, services)
	s.has(pods, list{revision: "10"})
	s.has(services, list{revision: "10"})
	r := start(t, s, pods, services)
	pod, service := s.watched(t, pods), s.watched(t, services)
	pod.Add(object("Pod", "a", 12))
	heard(pod)
	r.Stop()
	for _, w := range []begun{pod, service} {
		if !w.IsStopped() {
			t.Error("a watch goes on after Stop")
		}
	}
	r.Stop() // a second call does no harm
	expectTold(t, r, "a@12")
}

func TestStartNamesWhatCannotBeListed(t *testing.T) {
	s := newServer(pods, services)
	s.has(pods, list{revision: "10"})
	begins := make(chan begun, 1)
	go func() { // pods are watched by the time that services can't be listed
		begins <- <-s.watches["PodList"]
		s.has(services, list{err: errors.New("forbidden")})
	}()
	_, err := record.Start(t.Context(), s, "feature", pods, services)
	if err == nil || err.Error() != "recording Service in feature: listing failed: forbidden" {
		t.Errorf("got %v", err)
	}
	if w := <-begins; !w.IsStopped() {
		t.Error("pods are still watched")
	}
}

func TestBefore(t *testing.T) {
	var versions []record.Version
	at := func(revision int, name string, deleted bool) {
		versions = append(versions, record.Version{Revision: uint64(revision), Deleted: deleted, Object: object("Pod", name, revision)})
	}
	at(1, "b", false)
	at(2, "a", false)
	at(4, "b", false)
	at(6, "b", true)
	versions = append(versions, record.Version{Revision: 3, Object: object("Service", "s", 3)})
	for revision, want := range map[uint64]string{
		1: "", // a version is not before itself
		2: "b@1",
		4: "a@2 b@1",
		6: "a@2 b@4",
		7: "a@2",
	} {
		var got []string
		for _, o := range record.Before(versions, "Pod", revision) {
			got = append(got, o.GetName()+"@"+o.GetResourceVersion())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("before %d there were %q, expected %q", revision, got, want)
		}
	}
}

func TestOf(t *testing.T) {
	versions := []record.Version{
		{Revision: 1, Object: object("Pod", "a", 1)}, {Revision: 2, Object: object("Pod", "b", 2)}, {Revision: 3, Object: object("Pod", "a", 3)},
	}
	if got := told(record.Of(versions, "uid-of-a")); got != "a@1 a@3" {
		t.Errorf("got %s, expected both versions of a", got)
	}
	if got := record.Of(versions, "another"); len(got) > 0 {
		t.Errorf("got %s of an object that there never was", told(got))
	}
}
