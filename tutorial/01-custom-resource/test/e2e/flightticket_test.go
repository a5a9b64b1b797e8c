// Package e2e is the suite of this chapter: what the API server says of each definition, asserted on a real one.
package e2e

import (
	"context"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework"
)

// config is the directory of the chapter's YAML files.
const config = "../../config"

var stage = framework.New(framework.Options{
	Name:        "01-custom-resource",
	AddToScheme: []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme},
	Config:      config,
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

// The features define the same kind, so they run one after another.

func TestPosted(t *testing.T) {
	stage.Feature("the definition as posted").
		Assess("is refused for its unknown fields", func(ctx context.Context, s *framework.Scope) {
			strict := client.WithFieldValidation(s.Client, metav1.FieldValidationStrict)
			err := strict.Create(ctx, read(s, "crd/posted.yaml"))
			NewWithT(s).Expect(err).To(MatchError(And(
				ContainSubstring(`unknown field "spec.names.shortnames"`), ContainSubstring(`unknown field "spec.schema"`),
			)))
		}).
		Assess("and, where these are dropped, for its scope and its missing schema", func(ctx context.Context, s *framework.Scope) {
			lax := client.WithFieldValidation(s.Client, metav1.FieldValidationIgnore)
			err := lax.Create(ctx, read(s, "crd/posted.yaml"))
			NewWithT(s).Expect(err).To(MatchError(And(
				ContainSubstring(`spec.scope: Unsupported value: "Namespced"`), ContainSubstring("spec.versions[0].schema.openAPIV3Schema: Required value"),
			)))
		}).
		TestAlone(t)
}

func TestCorrected(t *testing.T) {
	stage.Feature("the corrected definition").
		WithLabel("disruptive", "cluster").
		Setup(func(ctx context.Context, s *framework.Scope) { define(ctx, s, "crd/corrected.yaml") }).
		Assess("has a short name", func(ctx context.Context, s *framework.Scope) {
			framework.WaitForObject(ctx, s, definition(), HaveField("Status.AcceptedNames.ShortNames", ConsistOf("ft")))
		}).
		Assess("takes the ticket as posted", func(ctx context.Context, s *framework.Scope) {
			ticket, err := create(ctx, s, "samples/flightticket.yaml")
			NewWithT(s).Expect(err).NotTo(HaveOccurred())
			NewWithT(s).Expect(ticket.Object["spec"]).To(Equal(map[string]any{"from": "Mumbai", "to": "London", "number": int64(2)}))
		}).
		Assess("refuses number 11", func(ctx context.Context, s *framework.Scope) {
			_, err := create(ctx, s, "samples/too-many.yaml")
			refused(s, err, "spec.number in body should be less than or equal to 10")
		}).
		Assess("takes a flight to nowhere", func(ctx context.Context, s *framework.Scope) {
			_, err := create(ctx, s, "samples/nowhere.yaml")
			NewWithT(s).Expect(err).NotTo(HaveOccurred())
		}).
		TestAlone(t)
}

func TestExtended(t *testing.T) {
	stage.Feature("the extended definition").
		WithLabel("disruptive", "cluster").
		Setup(func(ctx context.Context, s *framework.Scope) { define(ctx, s, "crd/extended.yaml") }).
		Assess("refuses a flight to nowhere", func(ctx context.Context, s *framework.Scope) {
			_, err := create(ctx, s, "samples/nowhere.yaml")
			refused(s, err, "spec.to: Required value")
		}).
		Assess("refuses number 11", func(ctx context.Context, s *framework.Scope) {
			_, err := create(ctx, s, "samples/too-many.yaml")
			refused(s, err, "spec.number in body should be less than or equal to 10")
		}).
		Assess("refuses empty places, and a ticket without a spec", func(ctx context.Context, s *framework.Scope) {
			for _, field := range []string{"from", "to"} {
				ticket := read(s, "samples/flightticket.yaml")
				ticket.SetNamespace(s.Namespace)
				NewWithT(s).Expect(unstructured.SetNestedField(ticket.Object, "", "spec", field)).To(Succeed())
				refused(s, s.Client.Create(ctx, ticket), "spec."+field+" in body should be at least 1 chars long")
			}
			ticket := read(s, "samples/flightticket.yaml")
			ticket.SetNamespace(s.Namespace)
			delete(ticket.Object, "spec")
			refused(s, s.Client.Create(ctx, ticket), "spec: Required value")
		}).
		Assess("has a status that no controller writes yet", func(ctx context.Context, s *framework.Scope) {
			g := NewWithT(s)
			ticket := read(s, "samples/flightticket.yaml")
			ticket.SetNamespace(s.Namespace)
			ticket.Object["status"] = map[string]any{"booking": "made up"}
			g.Expect(s.Client.Create(ctx, ticket)).To(Succeed())
			g.Expect(ticket.Object).NotTo(HaveKey("status"), "a user can't set the status")

			ticket.Object["status"] = map[string]any{"booking": "AB123"}
			g.Expect(s.Client.Status().Update(ctx, ticket)).To(Succeed())
			booking, _, err := unstructured.NestedString(ticket.Object, "status", "booking")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(booking).To(Equal("AB123"), "expected that status.booking is stored")
		}).
		TestAlone(t)
}

// define makes the API server serve the definition in the file, and no earlier one.
func define(ctx context.Context, s *framework.Scope, file string) {
	s.Helper()
	if err := client.IgnoreNotFound(s.Client.Delete(ctx, definition())); err != nil {
		s.Fatal(err)
	}
	framework.WaitForDeletion(ctx, s, definition())
	if err := s.Client.Create(ctx, read(s, file)); err != nil {
		s.Fatal(err)
	}
	tickets := &unstructured.UnstructuredList{}
	tickets.SetGroupVersionKind(schema.GroupVersionKind{Group: "flights.com", Version: "v1", Kind: "FlightTicketList"})
	framework.WaitForNone(ctx, s, tickets) // which is what it says as soon as there is an answer
}

// definition refers to the definition of FlightTickets.
func definition() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "flighttickets.flights.com"}}
}

// create creates the ticket in the file in the feature's namespace. The error is what the API server says of it.
func create(ctx context.Context, s *framework.Scope, file string) (*unstructured.Unstructured, error) {
	s.Helper()
	ticket := read(s, file)
	ticket.SetNamespace(s.Namespace)
	err := s.Client.Create(ctx, ticket)
	if err != nil && !apierrors.IsInvalid(err) {
		s.Fatal(err)
	}
	return ticket, err
}

// refused asserts that the API server has refused a ticket, and why.
func refused(s *framework.Scope, err error, why string) {
	s.Helper()
	g := NewWithT(s)
	g.Expect(err).To(HaveOccurred(), "expected the ticket to be refused: %s", why)
	g.Expect(err).To(MatchError(ContainSubstring(why)))
}

// read reads the object in one of the chapter's files.
func read(s *framework.Scope, file string) *unstructured.Unstructured {
	s.Helper()
	path, err := stage.Manifests(config + "/" + file)
	if err != nil {
		s.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &object.Object); err != nil {
		s.Fatal(err)
	}
	return object
}
