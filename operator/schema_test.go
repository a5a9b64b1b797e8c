package operator_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/operator/internal/lenient"
)

// definedSchema is the schema of Memcacheds, with what the API server does to an object before it stores it.
type definedSchema struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func readSchema(t *testing.T) definedSchema {
	t.Helper()
	content, err := os.ReadFile("config/crd/bases/cache.example.com_memcacheds.yaml")
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err == nil {
		err = yaml.Unmarshal(content, definition)
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err == nil {
		err = apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(definition.Spec.Versions[0].Schema, internal, nil)
	}
	var s definedSchema
	if err == nil {
		s.structural, err = structuralschema.NewStructural(internal.OpenAPIV3Schema)
	}
	if err == nil {
		s.validator, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s
}

// admit returns what the API server stores of an object, which is JSON, or why it refuses the object.
func (s definedSchema) admit(t *testing.T, object string) (*unstructured.Unstructured, error) {
	t.Helper()
	stored := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(object), &stored.Object); err != nil {
		return nil, err
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(stored.Object, s.structural)
	pruning.Prune(stored.Object, s.structural, true)
	defaulting.Default(stored.Object, s.structural)
	refused := slices.Concat(
		validation.ValidateCustomResource(nil, stored.Object, s.validator),
		listtype.ValidateListSetsAndMaps(nil, s.structural, stored.Object),
	)
	if len(refused) == 0 {
		refused, _ = s.rules.Validate(t.Context(), field.NewPath("root"), s.structural, stored.Object, nil, celconfig.RuntimeCELCostBudget)
	}
	return stored, errors.Join(refused.ToAggregate())
}

const validTime = "2024-01-31T23:59:58Z"

// sample is an object with every field that the schema has. Each verb is a field's value.
func sample(spec, status string) string {
	return `{"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "metadata": {"name": "sessions", "namespace": "team"},
		"spec": ` + spec + `, "status": ` + status + `}`
}

func withTime(time string) string {
	return sample(`{"size": 3}`, `{"conditions": [{"type": "Foreign", "status": "True", "reason": "Set", "message": "", "lastTransitionTime": `+time+`}]}`)
}

// values are JSON values that a schema may let pass although a Go type takes only some of them.
var values = []string{
	`null`, `true`, `"x"`, `""`, `"3"`, `"Infinity"`, `[]`, `[null]`, `[[]]`, `["x", "x"]`, `{}`, `{"x": null}`, `{"": {}}`, `[{}]`,
	`0`, `-0`, `-1`, `1`, `5`, `1.0`, `1.5`, `3e0`, `1e2`, `1e-1`, `2147483647`, `2147483648`, `-2147483648`, `-2147483649`, `4294967296`,
	`9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `1e18`, `1e19`, `1e300`, `1e999`,
	`"` + validTime + `"`, `"2024-01-31t23:59:58z"`, `"2024-01-31T23:59:58z"`, `"2024-01-31t23:59:58Z"`, `"2024-01-31T23:59:58"`,
	`"2024-01-31T23:59:58+00:00"`, `"2024-01-31T23:59:58-23:59"`, `"2024-01-31T23:59:58+24:00"`, `"2024-01-31T23:59:58+99:99"`, `"2024-01-31T23:59:58+0000"`,
	`"2024-01-31T23:59:58.1Z"`, `"2024-01-31T23:59:58,1Z"`, `"2024-01-31T23:59:58x1Z"`, `"2024-01-31T23:59:58.Z"`, `"2024-01-31T23:59:58.123456789123456789Z"`,
	`"2024-01-31T23:59:60Z"`, `"2024-01-31T24:00:00Z"`, `"2024-02-30T23:59:58Z"`, `"0000-01-01T00:00:00Z"`, `"10000-01-01T00:00:00Z"`, `"2024-1-1T00:00:00Z"`,
	`"2024-01-31 23:59:58Z"`, `"2024-01-31T23:59:58Zt"`, `"2024-01-31T23:59:58Z\n"`, `" 2024-01-31T23:59:58Z"`, `"2024-W05-3T23:59:58Z"`, `"٢٠٢٤-01-31T23:59:58Z"`,
}

// TestWhatTheSchemaAllowsCanBeDecoded puts each value into each field. What the API server would store, a client can read: otherwise
// one object would stop whoever lists all of them.
func TestWhatTheSchemaAllowsCanBeDecoded(t *testing.T) {
	s := readSchema(t)
	allowed, refused := 0, 0
	try := func(what, object string) {
		t.Helper()
		stored, err := s.admit(t, object)
		if err != nil {
			refused++
			return
		}
		allowed++
		if _, err := lenient.Decode(stored); err != nil {
			t.Errorf("%s: the schema allows what Go can't decode: %v", what, err)
		}
	}
	condition := func(field, value string) string {
		fields := map[string]string{
			"type": `"Foreign"`, "status": `"True"`, "reason": `"Set"`, "message": `""`, "lastTransitionTime": `"` + validTime + `"`, "observedGeneration": `1`,
		}
		fields[field] = value
		var parts []string
		for name, value := range fields {
			parts = append(parts, fmt.Sprintf("%q: %s", name, value))
		}
		return sample(`{}`, `{"conditions": [{`+strings.Join(parts, ", ")+`}]}`)
	}
	properties := s.structural.Properties
	for _, value := range values {
		try("spec: "+value, sample(value, `{}`))
		try("status: "+value, sample(`{}`, value))
		for name := range properties["spec"].Properties {
			try("spec."+name+": "+value, sample(fmt.Sprintf("{%q: %s}", name, value), `{}`))
		}
		for name := range properties["status"].Properties {
			try("status."+name+": "+value, sample(`{}`, fmt.Sprintf("{%q: %s}", name, value)))
			try("status."+name+"[0]: "+value, sample(`{}`, fmt.Sprintf("{%q: [%s]}", name, value)))
		}
		for name := range properties["status"].Properties["conditions"].Items.Properties {
			try("status.conditions[0]."+name+": "+value, condition(name, value))
		}
	}

	// Times that differ from a valid one in a few characters.
	random := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // it must be reproducible, not secret
	const characters = "0123456789TtZz:.,+-xX "
	for range 20_000 {
		time := []byte(validTime)
		if random.IntN(2) == 0 {
			time = []byte("2024-01-31T23:59:58.5+01:00")
		}
		for range 1 + random.IntN(3) {
			at := random.IntN(len(time))
			switch random.IntN(3) {
			case 0:
				time[at] = characters[random.IntN(len(characters))]
			case 1:
				time = slices.Insert(time, at, characters[random.IntN(len(characters))])
			default:
				time = slices.Delete(time, at, at+1)
			}
		}
		try("lastTransitionTime: "+string(time), withTime(fmt.Sprintf("%q", time)))
	}
	t.Logf("%d objects allowed, %d refused", allowed, refused)
	if allowed < 100 || refused < 100 {
		t.Error("too few of either to prove anything")
	}
}

// The operator's own times pass, in whatever zone.
func TestSchemaAllowsTimes(t *testing.T) {
	s := readSchema(t)
	for _, time := range []string{validTime, "2024-02-29T00:00:00Z", "2024-01-31T23:59:58+05:30", "2024-01-31T23:59:58.123456Z", "0001-01-01T00:00:00Z"} {
		if _, err := s.admit(t, withTime(fmt.Sprintf("%q", time))); err != nil {
			t.Errorf("%s: %v", time, err)
		}
	}
	_, err := s.admit(t, withTime(`"2024-01-01t00:00:00z"`))
	if err == nil || !strings.Contains(err.Error(), "lastTransitionTime") {
		t.Errorf("error = %v, want one about lastTransitionTime", err)
	}
}
