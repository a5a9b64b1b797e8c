package conformance

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// checkKeys returns an error that names the first line of a YAML text with a key that has no field in a value of such a type, or with
// something else than the field holds.
func checkKeys(content []byte, as any) error {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(content, &document); err != nil {
		return err
	}
	if len(document.Content) == 0 {
		return nil
	}
	return checkNode(document.Content[0], reflect.TypeOf(as), "the file")
}

// checkNode checks what is below a key.
func checkNode(node *yamlv3.Node, as reflect.Type, key string) error {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	wanted, what := yamlv3.ScalarNode, "a single value"
	switch as.Kind() {
	case reflect.Interface:
		return nil
	case reflect.Struct, reflect.Map:
		wanted, what = yamlv3.MappingNode, "keys and values"
	case reflect.Slice:
		wanted, what = yamlv3.SequenceNode, "a list"
	}
	if node.Tag == "!!null" {
		return nil
	}
	if node.Kind != wanted {
		return fmt.Errorf("line %d: %s wants %s", node.Line, key, what)
	}
	switch as.Kind() {
	case reflect.Struct:
		fields, seen := fieldsOf(as), map[string]bool{}
		for i := 0; i < len(node.Content); i += 2 {
			name := node.Content[i]
			field, known := fields[name.Value]
			if !known {
				var names []string
				for name := range fields {
					names = append(names, name)
				}
				slices.Sort(names)
				return fmt.Errorf("line %d: unknown key %q: use %s", name.Line, name.Value, strings.Join(names, ", "))
			}
			if seen[name.Value] {
				return fmt.Errorf("line %d: the key %q is there twice", name.Line, name.Value)
			}
			seen[name.Value] = true
			if err := checkNode(node.Content[i+1], field, name.Value); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for _, element := range node.Content {
			if err := checkNode(element, as.Elem(), "an entry of "+key); err != nil {
				return err
			}
		}
	}
	return nil
}

// fieldsOf returns the types of a struct's fields by their names in JSON.
func fieldsOf(as reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(as) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = field.Type
		}
	}
	return fields
}
