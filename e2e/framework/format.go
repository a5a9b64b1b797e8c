package framework

import (
	"fmt"
	"reflect"

	"github.com/onsi/gomega/format"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Gomega prints every field of what it compares. Of an object and of an API server's error that is a hundred lines, in which the
// few words that matter are lost.
var _ = format.RegisterCustomFormatter(inOneLine)

// inOneLine names an object, and returns the message of an API server's error. It reports false for any other value. The fields
// of an object are in the artifacts of the failure.
func inOneLine(value any) (string, bool) {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Struct {
		pointer := reflect.New(v.Type())
		pointer.Elem().Set(v)
		value = pointer.Interface()
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer && v.IsNil() {
		return "", false
	}
	switch value := value.(type) {
	case *apierrors.StatusError:
		return value.Error(), true
	case client.Object:
		kind := value.GetObjectKind().GroupVersionKind().Kind
		if kind == "" { // as in what a typed client has read
			kind = reflect.TypeOf(value).Elem().Name()
		}
		return fmt.Sprintf("%s %s", kind, client.ObjectKeyFromObject(value)), true
	}
	return "", false
}
