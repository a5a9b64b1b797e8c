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
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/suite"
)

// config is the folder of the chapter's YAML files.
const config = "../../config"

var stage = suite.New(suite.Options{
	Name:        "01-custom-resource",
	AddToScheme: []func(*runtime.Scheme) error{apiextensionsv1.AddToScheme},
	Config:      config,
})

func TestMain(m *testing.M) { os.Exit(stage.Run(m)) }

// The features define the same kind, so they run one after another.

func TestPosted(t *testing.T) {
	stage.TestAlone(t, features.New("the definition as posted").
		Assess("is refused for its unknown fields", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			strict := client.WithFieldValidation(s.Client, metav1.FieldValidationStrict)
			err := strict.Create(ctx, read(t, "crd/posted.yaml"))
			NewWithT(t).Expect(err).To(MatchError(And(
				ContainSubstring(`unknown field "spec.names.shortnames"`), ContainSubstring(`unknown field "spec.schema"`),
			)))
		})).
		Assess("and, where these are dropped, for its scope and its missing schema", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			lax := client.WithFieldValidation(s.Client, metav1.FieldValidationIgnore)
			err := lax.Create(ctx, read(t, "crd/posted.yaml"))
			NewWithT(t).Expect(err).To(MatchError(And(
				ContainSubstring(`spec.scope: Unsupported value: "Namespced"`), ContainSubstring("spec.versions[0].schema.openAPIV3Schema: Required value"),
			)))
		})).
		Feature())
}

func TestCorrected(t *testing.T) {
	stage.TestAlone(t, features.New("the corrected definition").
		Setup(suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) { define(ctx, t, s, "crd/corrected.yaml") })).
		Assess("has a short name", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			s.Expect(t).Object(ctx, definition(), HaveField("Status.AcceptedNames.ShortNames", ConsistOf("ft")))
		})).
		Assess("takes the ticket as posted", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			ticket, err := create(ctx, t, s, "samples/flightticket.yaml")
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(ticket.Object["spec"]).To(Equal(map[string]any{"from": "Mumbai", "to": "London", "number": int64(2)}))
		})).
		Assess("refuses number 11", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			_, err := create(ctx, t, s, "samples/too-many.yaml")
			refused(t, err, "spec.number in body should be less than or equal to 10")
		})).
		Assess("takes a flight to nowhere", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			_, err := create(ctx, t, s, "samples/nowhere.yaml")
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
		})).
		Feature())
}

func TestExtended(t *testing.T) {
	stage.TestAlone(t, features.New("the extended definition").
		Setup(suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) { define(ctx, t, s, "crd/extended.yaml") })).
		Assess("refuses a flight to nowhere", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			_, err := create(ctx, t, s, "samples/nowhere.yaml")
			refused(t, err, "spec.to: Required value")
		})).
		Assess("refuses number 11", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			_, err := create(ctx, t, s, "samples/too-many.yaml")
			refused(t, err, "spec.number in body should be less than or equal to 10")
		})).
		Assess("refuses empty places, and a ticket without a spec", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			for _, field := range []string{"from", "to"} {
				ticket := read(t, "samples/flightticket.yaml")
				ticket.SetNamespace(s.Namespace)
				NewWithT(t).Expect(unstructured.SetNestedField(ticket.Object, "", "spec", field)).To(Succeed())
				refused(t, s.Client.Create(ctx, ticket), "spec."+field+" in body should be at least 1 chars long")
			}
			ticket := read(t, "samples/flightticket.yaml")
			ticket.SetNamespace(s.Namespace)
			delete(ticket.Object, "spec")
			refused(t, s.Client.Create(ctx, ticket), "spec: Required value")
		})).
		Assess("has a status that nobody writes yet", suite.Step(func(ctx context.Context, t *testing.T, s *suite.Scope) {
			g := NewWithT(t)
			ticket := read(t, "samples/flightticket.yaml")
			ticket.SetNamespace(s.Namespace)
			ticket.Object["status"] = map[string]any{"booking": "made up"}
			g.Expect(s.Client.Create(ctx, ticket)).To(Succeed())
			g.Expect(ticket.Object).NotTo(HaveKey("status"), "a user can't set the status")

			ticket.Object["status"] = map[string]any{"booking": "AB123"}
			g.Expect(s.Client.Status().Update(ctx, ticket)).To(Succeed())
			booking, _, err := unstructured.NestedString(ticket.Object, "status", "booking")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(booking).To(Equal("AB123"), "expected that status.booking is stored")
		})).
		Feature())
}

// define makes the API server serve the definition in the file, and no earlier one.
func define(ctx context.Context, t *testing.T, s *suite.Scope, file string) {
	t.Helper()
	if err := client.IgnoreNotFound(s.Client.Delete(ctx, definition())); err != nil {
		t.Fatal(err)
	}
	s.Expect(t).Gone(ctx, definition())
	if err := s.Client.Create(ctx, read(t, file)); err != nil {
		t.Fatal(err)
	}
	tickets := &unstructured.UnstructuredList{}
	tickets.SetGroupVersionKind(schema.GroupVersionKind{Group: "flights.com", Version: "v1", Kind: "FlightTicketList"})
	s.Expect(t).NoneLeft(ctx, tickets) // which is what it says as soon as there is an answer
}

// definition refers to the definition of FlightTickets.
func definition() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "flighttickets.flights.com"}}
}

// create creates the ticket in the file in the feature's namespace. The error is what the API server says of it.
func create(ctx context.Context, t *testing.T, s *suite.Scope, file string) (*unstructured.Unstructured, error) {
	t.Helper()
	ticket := read(t, file)
	ticket.SetNamespace(s.Namespace)
	err := s.Client.Create(ctx, ticket)
	if err != nil && !apierrors.IsInvalid(err) {
		t.Fatal(err)
	}
	return ticket, err
}

// refused asserts that the API server has refused a ticket, and why.
func refused(t *testing.T, err error, why string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(err).To(HaveOccurred(), "expected the ticket to be refused: %s", why)
	g.Expect(err).To(MatchError(ContainSubstring(why)))
}

// read reads the object in one of the chapter's files.
func read(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	path, err := stage.Manifests(config + "/" + file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}
