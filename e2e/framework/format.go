package framework

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Gomega prints every field of what it compares. Of an object, of an API server's error and of a matcher inside another one that is up
// to a hundred lines, in which the few words that matter are lost.
var _ = format.RegisterCustomFormatter(inOneLine)

// inOneLine names an object, describes a matcher, and returns the message of an API server's error. It reports false for any other
// value. The fields of an object are in the artifacts of the failure.
func inOneLine(value any) (string, bool) {
	if matchers := matchersIn(value); matchers != nil {
		return describeMatchers(matchers, ", "), true
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Struct {
		pointer := reflect.New(v.Type())
		pointer.Elem().Set(v)
		value = pointer.Interface()
	}
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer && v.IsNil() {
		return "", false
	}
	switch value := value.(type) {
	case types.GomegaMatcher:
		return describeMatcher(value), true
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

// matchersIn returns the elements of a list in which there are matchers; nil for any other value.
func matchersIn(value any) []any {
	switch list := value.(type) {
	case []any:
		if slices.ContainsFunc(list, func(element any) bool { _, is := element.(types.GomegaMatcher); return is }) {
			return list
		}
	case []types.GomegaMatcher:
		elements := make([]any, len(list))
		for i, element := range list {
			elements[i] = element
		}
		return elements
	}
	return nil
}

// describeMatchers describes each element that is a matcher, and prints the others.
func describeMatchers(elements []any, separator string) string {
	described := make([]string, len(elements))
	for i, element := range elements {
		described[i] = describeOperand(element)
	}
	return strings.Join(described, separator)
}

// describeMatcher describes a matcher of gomega in the words of its name and the operands that it was made with: HaveField("Reason",
// Equal("Gone")) is `have field "Reason" equal "Gone"`.
func describeMatcher(matcher types.GomegaMatcher) string {
	structure := reflect.Indirect(reflect.ValueOf(matcher))
	name := strings.TrimSuffix(structure.Type().Name(), "Matcher")
	words := []string{strings.ToLower(strings.Join(wordsOf.FindAllString(name, -1), " "))}
	if structure.Kind() != reflect.Struct {
		return words[0]
	}
	if several := structure.FieldByName("Matchers"); several.IsValid() { // And, Or
		if all := matchersIn(several.Interface()); all != nil {
			return describeMatchers(all, " "+words[0]+" ")
		}
	}
	for i := range structure.NumField() {
		operand := structure.Field(i)
		if !structure.Type().Field(i).IsExported() || operand.Kind() == reflect.Func || operand.IsZero() {
			continue
		}
		words = append(words, describeOperand(operand.Interface()))
	}
	return strings.Join(words, " ")
}

// wordsOf matches the words of a name in camel case.
var wordsOf = regexp.MustCompile(`[A-Z]+[a-z0-9]*`)

// describeOperand describes what a matcher was made with.
func describeOperand(operand any) string {
	if text, isText := operand.(string); isText {
		return strconv.Quote(text)
	}
	if described, ok := inOneLine(operand); ok {
		return described
	}
	return fmt.Sprint(operand)
}
