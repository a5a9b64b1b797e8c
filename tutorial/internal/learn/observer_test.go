package learn

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

var tickets = schema.GroupVersionResource{Group: "flights.com", Version: "v1", Resource: "flighttickets"}

// ticketDefinition is a CustomResourceDefinition as the API server keeps it.
const ticketDefinition = `
spec:
  group: flights.com
  scope: Namespaced
  names: {kind: FlightTicket, plural: flighttickets}
  versions:
  - {name: v0, served: false}
  - name: v1
    served: true
    additionalPrinterColumns: [{name: From, type: string, jsonPath: .spec.from}, {name: Age, type: date, jsonPath: .metadata.creationTimestamp}]
status: {conditions: [{type: Established, status: "True"}]}`

// serverOf returns a client of an API server that has these objects.
func serverOf(objects ...runtime.Object) *fake.FakeDynamicClient {
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		observed[0]: "DeploymentList", observed[1]: "ReplicaSetList", podsResource: "PodList", eventsResource: "EventList",
		crdsResource: "CustomResourceDefinitionList", tickets: "FlightTicketList",
	}, objects...)
}

// observedServer runs an observer of an API server that has these objects, and returns what waits until its tree is as wanted.
func observedServer(t *testing.T, objects ...runtime.Object) (client *fake.FakeDynamicClient, o *observer, shows func(want string)) {
	t.Helper()
	client = serverOf(objects...)
	watched := make(chan struct{}, 100)
	client.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) {
		watched <- struct{}{}
		return false, nil, nil
	})
	news := make(chan struct{}, 1)
	o = observerWith(client, func() {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	for range len(observed) + 2 { // The client forgets what is deleted between a list and its watch.
		<-watched
	}
	return client, o, func(want string) {
		t.Helper()
		limit := time.After(10 * time.Minute)
		for {
			roots, more, _, _ := o.snapshot()
			got := drawn(roots, more)
			if got == want {
				return
			}
			select {
			case <-news:
			case <-limit:
				t.Fatalf("got\n%s\nexpected\n%s", got, want)
			}
		}
	}
}

// Kinds that are defined later are watched, too, and forgotten with their definition.
func TestObserver(t *testing.T) {
	g := NewWithT(t)
	crd := objectOf(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "flighttickets.flights.com", ticketDefinition)
	crd.SetNamespace("")
	client, _, shows := observedServer(t, objectOf(t, "apps/v1", "Deployment", "plain", "status: {readyReplicas: 1}"))
	shows("Deployment plain: 1/1 ready (good)\n")

	ticket := objectOf(t, "flights.com/v1", "FlightTicket", "mine", "spec: {from: Mumbai}")
	_, err := client.Resource(tickets).Namespace("default").Create(t.Context(), ticket, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = client.Resource(crdsResource).Create(t.Context(), crd, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	shows("FlightTicket mine: From Mumbai (none)\nDeployment plain: 1/1 ready (good)\n")

	changed := ticket.DeepCopy()
	g.Expect(unstructured.SetNestedField(changed.Object, "London", "spec", "from")).To(Succeed())
	_, err = client.Resource(tickets).Namespace("default").Update(t.Context(), changed, metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(client.Resource(observed[0]).Namespace("default").Delete(t.Context(), "plain", metav1.DeleteOptions{})).To(Succeed())
	shows("FlightTicket mine: From London (none)\n")

	g.Expect(client.Resource(crdsResource).Delete(t.Context(), crd.GetName(), metav1.DeleteOptions{})).To(Succeed())
	shows("")
}

// All pods that are there play a crash, and healing takes that away, however little has been seen of them.
func TestSimulate(t *testing.T) {
	g := NewWithT(t)
	client := serverOf(objectOf(t, "v1", "Pod", "a", ""), objectOf(t, "v1", "Pod", "b", ""))
	o := observerWith(client, func() {})
	simulated := func() (all []string) {
		pods, err := client.Resource(podsResource).List(t.Context(), metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		for _, pod := range pods.Items {
			all = append(all, pod.GetName()+" "+pod.GetAnnotations()["testbed.example.com/simulate"])
		}
		return all
	}
	g.Expect(o.simulate(t.Context(), nil)).To(BeZero(), "all run")
	g.Expect(o.simulate(t.Context(), "crashloop")).To(Equal(2))
	g.Expect(simulated()).To(ConsistOf("a crashloop", "b crashloop"))

	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.PatchAction).GetName()
		return name == "b", nil, apierrors.NewNotFound(podsResource.GroupResource(), name)
	})
	g.Expect(o.simulate(t.Context(), nil)).To(Equal(1), "one of them has gone in the meantime")
	g.Expect(simulated()).To(ConsistOf("a ", "b crashloop"))
}

// An API server that does not answer is a problem until it does again.
func TestAPIServerIsAway(t *testing.T) {
	g := NewWithT(t)
	news := make(chan struct{}, 10)
	o := observerWith(nil, func() { news <- struct{}{} })
	answers := make(chan error, 3)
	answers <- errors.New("refused")
	answers <- errors.New("refused")
	o.health = func(context.Context) error { return <-answers }
	o.failed(t.Context(), errors.New("connection refused"))
	<-news
	_, _, _, problem := o.snapshot()
	g.Expect(problem).To(Equal("the API server does not answer: connection refused"))
	answers <- nil
	<-news
	_, _, _, problem = o.snapshot()
	g.Expect(problem).To(BeEmpty())

	answers <- nil
	o.failed(t.Context(), errors.New("too old resource version"))
	_, _, _, problem = o.snapshot()
	g.Expect(problem).To(BeEmpty(), "a watch that is begun again")
}

func TestEvents(t *testing.T) {
	g := NewWithT(t)
	all := map[types.UID]*unstructured.Unstructured{}
	begin := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	add := func(name string, change func(*corev1.Event)) {
		e := &corev1.Event{Type: "Normal", Reason: name, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "a"}}
		change(e)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e)
		g.Expect(err).NotTo(HaveOccurred())
		all[types.UID(name)] = &unstructured.Unstructured{Object: content}
	}
	add("Old", func(e *corev1.Event) { e.LastTimestamp, e.Count = metav1.NewTime(begin), 7 })
	add("New", func(e *corev1.Event) { e.EventTime = metav1.NewMicroTime(begin.Add(time.Minute)) })
	add("Again", func(e *corev1.Event) {
		e.EventTime = metav1.NewMicroTime(begin)
		e.Series = &corev1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(begin.Add(time.Hour))}
	})
	add("OfANode", func(e *corev1.Event) { e.InvolvedObject.Kind = "Node" })
	got := newest(all)
	g.Expect(got).To(HaveLen(3))
	g.Expect(got[0]).To(Equal(Event{At: begin.Add(time.Hour), Type: "Normal", Reason: "Again", Object: "Pod/a", Count: 3}))
	g.Expect(got[1]).To(And(HaveField("Reason", "New"), HaveField("Count", 1)))
	g.Expect(got[2]).To(And(HaveField("Reason", "Old"), HaveField("Count", 7)))
	for i := range 100 {
		add(strings.Repeat("x", i+1), func(e *corev1.Event) { e.LastTimestamp = metav1.NewTime(begin) })
	}
	g.Expect(newest(all)).To(HaveLen(mostEvents))
}

// The page shows what operators ask for, and nobody else.
func TestWrites(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "audit.log")
	line := func(user, verb, object, second string) string {
		return `{"kind":"Event","stage":"ResponseComplete","verb":"` + verb + `","user":{"username":"` + user + `"},"objectRef":` + object +
			`,"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:` + second + `.000000Z"}` + "\n"
	}
	const operator, deployment = "system:serviceaccount:operator-system:manager", `{"resource":"deployments","name":"sample"}`
	g.Expect(os.WriteFile(file, []byte(line(operator, "create", deployment, "01")+
		line(operator, "get", deployment, "02")+
		line("kubernetes-admin", "create", deployment, "03")+
		line("system:serviceaccount:kube-system:deployment-controller", "patch", deployment, "04")+
		line(operator, "update", `{"resource":"leases","name":"leader"}`, "05")), 0o600)).To(Succeed())
	news := make(chan struct{}, 10)
	w := &writes{changed: func() { news <- struct{}{} }}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx, file) }()
	<-news
	first := Write{At: time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC), Verb: "create", Object: "deployments/sample", Code: 201}
	g.Expect(w.snapshot()).To(Equal([]Write{first}))

	log, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = log.WriteString(line(operator, "patch", `{"resource":"memcacheds","subresource":"status","name":"sample"}`, "09"))
	g.Expect(errors.Join(err, log.Close())).To(Succeed())
	<-news
	g.Expect(w.snapshot()[0]).To(And(HaveField("Verb", "patch"), HaveField("Object", "memcacheds/sample"), HaveField("Subresource", "status")))
	g.Expect(w.snapshot()[1]).To(Equal(first))
	stop()
	g.Expect(<-ended).To(Succeed())
}
