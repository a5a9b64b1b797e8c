package v1alpha1

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/11-admission/api/v1alpha1"
)

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// memcached is a Memcached of namespace "here".
func memcached(name string, size, port int32, annotations map[string]string) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		TypeMeta:   metav1.TypeMeta{APIVersion: cachev1alpha1.GroupVersion.String(), Kind: "Memcached"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: name, Annotations: annotations},
		Spec:       cachev1alpha1.MemcachedSpec{Size: &size, ContainerPort: &port},
	}
}

func scale(name string, replicas int32) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: name},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
	}
}

func request(t testing.TB, operation admissionv1.Operation, before, after any) admission.Request {
	t.Helper()
	raw := func(object any) runtime.RawExtension {
		if object == nil {
			return runtime.RawExtension{}
		}
		content, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: content}
	}
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "1", Operation: operation, OldObject: raw(before), Object: raw(after),
		UserInfo: authenticationv1.UserInfo{Username: "jane"},
	}}
}

// The API server gets each decision: as a patch, as a refusal that names all fields, or as a warning.
func TestDefaulterOverTheWire(t *testing.T) {
	webhook := admission.WithDefaulter(newScheme(t), &Defaulter{})
	joes := map[string]string{requestedBy: "joe"}
	for _, test := range []struct {
		name    string
		request admission.Request
		want    string // of the annotation, afterwards
	}{
		{"creation", request(t, admissionv1.Create, nil, memcached("a", 1, 11211, nil)), "jane"},
		{"a forged creation", request(t, admissionv1.Create, nil, memcached("a", 1, 11211, joes)), "jane"},
		{"a change", request(t, admissionv1.Update, memcached("a", 1, 11211, joes), memcached("a", 2, 11211, joes)), "joe"},
		{"a forged change", request(t, admissionv1.Update, memcached("a", 1, 11211, joes), memcached("a", 2, 11211, map[string]string{requestedBy: "jane"})), "joe"},
		{"a change that removes it", request(t, admissionv1.Update, memcached("a", 1, 11211, joes), memcached("a", 2, 11211, nil)), "joe"},
		{"a change that adds it", request(t, admissionv1.Update, memcached("a", 1, 11211, nil), memcached("a", 2, 11211, joes)), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			response := webhook.Handle(t.Context(), test.request)
			if !response.Allowed {
				t.Fatalf("refused: %v", response.Result)
			}
			if got := patched(t, test.request, response).Annotations[requestedBy]; got != test.want {
				t.Errorf("%s = %q, want %q", requestedBy, got, test.want)
			}
		})
	}
}

// patched returns the Memcached as the API server stores it.
func patched(t *testing.T, request admission.Request, response admission.Response) *cachev1alpha1.Memcached {
	t.Helper()
	content := request.Object.Raw
	if len(response.Patch) > 0 {
		patch, err := jsonpatch.DecodePatch(response.Patch)
		if err == nil {
			content, err = patch.Apply(content)
		}
		if err != nil {
			t.Fatalf("the API server can't use the patch %s of %s: %v", response.Patch, request.Object.Raw, err)
		}
	}
	mc := &cachev1alpha1.Memcached{}
	if err := json.Unmarshal(content, mc); err != nil {
		t.Fatal(err)
	}
	return mc
}

func TestValidatorOverTheWire(t *testing.T) {
	protected := map[string]string{protection: "true"}
	for _, test := range []struct {
		name    string
		limit   int64
		request admission.Request
		refused []string // parts of the message; empty if the request is allowed
		warning string
	}{
		{"creation without a limit", 0, request(t, admissionv1.Create, nil, memcached("a", 5, 11211, nil)), nil, ""},
		{"creation at the limit", 5, request(t, admissionv1.Create, nil, memcached("a", 2, 11211, nil)), nil, ""},
		{"creation above the limit", 4, request(t, admissionv1.Create, nil, memcached("a", 2, 11211, nil)), []string{"spec.size: Forbidden", "sum up to 4"}, ""},
		{"all reasons at once", 4, request(t, admissionv1.Create, nil, memcached("a", 2, 11211, map[string]string{protection: "yes"})),
			[]string{"spec.size", `Unsupported value: "yes"`}, ""},
		{"growth above the limit", 4, request(t, admissionv1.Update, memcached("other", 3, 11211, nil), memcached("other", 5, 11211, nil)), []string{"spec.size"}, ""},
		{"growth to the limit", 5, request(t, admissionv1.Update, memcached("other", 3, 11211, nil), memcached("other", 5, 11211, nil)), nil, ""},
		{"shrinking above a lowered limit", 1, request(t, admissionv1.Update, memcached("other", 3, 11211, nil), memcached("other", 2, 11211, nil)), nil, ""},
		{"a new port", 0, request(t, admissionv1.Update, memcached("a", 1, 11211, nil), memcached("a", 1, 11212, nil)), nil, "every pod"},
		{"a new port above the limit", 4, request(t, admissionv1.Update, memcached("a", 1, 11211, nil), memcached("a", 5, 11212, nil)), []string{"spec.size"}, "every pod"},
		{"deletion", 0, request(t, admissionv1.Delete, memcached("a", 1, 11211, nil), nil), nil, ""},
		{"deletion of what is protected", 0, request(t, admissionv1.Delete, memcached("a", 1, 11211, protected), nil),
			[]string{"metadata.annotations[cache.example.com/deletion-protection]: Forbidden", "kubectl annotate"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := fake.NewClientBuilder().WithScheme(newScheme(t)).
				WithObjects(memcached("other", 3, 11211, nil), elsewhere()).Build()
			webhook := admission.WithValidator(newScheme(t), &Validator{Reader: reader, MaxTotalSize: test.limit})
			check(t, webhook.Handle(t.Context(), test.request), test.refused)
			warnings := strings.Join(webhook.Handle(t.Context(), test.request).Warnings, "\n")
			if (warnings == "") != (test.warning == "") || !strings.Contains(warnings, test.warning) {
				t.Errorf("warnings = %q, want %q", warnings, test.warning)
			}
		})
	}
}

func TestScaleValidatorOverTheWire(t *testing.T) {
	for _, test := range []struct {
		name    string
		limit   int64
		from    int32
		to      int32
		refused []string
	}{
		{"without a limit", 0, 3, 5, nil},
		{"to the limit", 5, 3, 5, nil},
		{"above it", 4, 3, 5, []string{"spec.size", "sum up to 4"}},
		{"down, above a lowered limit", 1, 3, 2, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := fake.NewClientBuilder().WithScheme(newScheme(t)).
				WithObjects(memcached("other", 3, 11211, nil), elsewhere()).Build()
			webhook := admission.WithValidator(newScheme(t), &ScaleValidator{Validator: &Validator{Reader: reader, MaxTotalSize: test.limit}})
			check(t, webhook.Handle(t.Context(), request(t, admissionv1.Update, scale("other", test.from), scale("other", test.to))), test.refused)
		})
	}
}

// elsewhere is a Memcached of another namespace, which counts only there.
func elsewhere() *cachev1alpha1.Memcached {
	mc := memcached("elsewhere", 5, 11211, nil)
	mc.Namespace = "there"
	return mc
}

func check(t *testing.T, response admission.Response, refused []string) {
	t.Helper()
	if response.Allowed != (len(refused) == 0) {
		t.Fatalf("allowed: %v, %v; want refused with %q", response.Allowed, response.Result, refused)
	}
	for _, want := range refused {
		if !strings.Contains(response.Result.Message, want) {
			t.Errorf("message = %q, want it to contain %q", response.Result.Message, want)
		}
	}
}

// The validator reads from the API server only when the result matters. If it can't, it allows nothing that it might have to
// refuse.
func TestListIsNeededOnlyForGrowth(t *testing.T) {
	broken := interceptor.NewClient(fake.NewClientBuilder().WithScheme(newScheme(t)).Build(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("down")
		},
	})
	webhook := admission.WithValidator(newScheme(t), &Validator{Reader: broken, MaxTotalSize: 10})
	if response := webhook.Handle(t.Context(), request(t, admissionv1.Update, memcached("a", 2, 1, nil), memcached("a", 2, 2, nil))); !response.Allowed {
		t.Errorf("a change of port: %v", response.Result)
	}
	response := webhook.Handle(t.Context(), request(t, admissionv1.Update, memcached("a", 2, 1, nil), memcached("a", 3, 1, nil)))
	if response.Allowed || response.Result.Code != 500 {
		t.Errorf("growth: allowed %v, %v; want a 500", response.Allowed, response.Result)
	}
}

// For any input there is no panic, the creator is the user of the request, and only protected Memcacheds can't be deleted.
func FuzzAdmission(f *testing.F) {
	for _, before := range []string{`{}`, `null`, `{"metadata":{"annotations":{"cache.example.com/requested-by":"joe"}}}`, `{"spec":{"size":3}}`, `[`} {
		for _, after := range []string{`{}`, `{"metadata":{"annotations":null},"spec":{"size":2147483647}}`, `{"spec":{"size":-1,"containerPort":0},"x":1}`, ``} {
			for operation := range uint8(5) {
				f.Add([]byte(before), []byte(after), operation)
			}
		}
	}
	scheme := newScheme(f)
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(memcached("other", 5, 11211, nil)).Build()
	validator := &Validator{Reader: reader, MaxTotalSize: 6}
	defaulting := admission.WithDefaulter(scheme, &Defaulter{}).WithRecoverPanic(false)
	validating := admission.WithValidator(scheme, validator).WithRecoverPanic(false)
	scaling := admission.WithValidator(scheme, &ScaleValidator{Validator: validator}).WithRecoverPanic(false)
	operations := []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect, "?"}

	f.Fuzz(func(t *testing.T, before, after []byte, operation uint8) {
		request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			UID: "1", Operation: operations[int(operation)%len(operations)],
			OldObject: runtime.RawExtension{Raw: before}, Object: runtime.RawExtension{Raw: after},
			UserInfo: authenticationv1.UserInfo{Username: "jane"},
		}}
		validating.Handle(t.Context(), request)
		scaling.Handle(t.Context(), request)
		response := defaulting.Handle(t.Context(), request)
		if request.Operation != admissionv1.Create || !response.Allowed {
			return
		}
		if got := patched(t, request, response).Annotations[requestedBy]; got != "jane" {
			t.Errorf("%s = %q after the creation of %s", requestedBy, got, after)
		}
	})
}
