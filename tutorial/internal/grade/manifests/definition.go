package manifests

import (
	"fmt"
	"maps"
	"slices"
)

// versions returns the versions of a CustomResourceDefinition, and none of another object.
func versions(object *Object) []map[string]any {
	if object.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	list, _ := nested(object.Object, "spec")["versions"].([]any)
	var all []map[string]any
	for _, entry := range list {
		if version, ok := entry.(map[string]any); ok {
			all = append(all, version)
		}
	}
	return all
}

// nested returns the object at a path of fields, or nil.
func nested(in map[string]any, path ...string) map[string]any {
	for _, field := range path {
		in, _ = in[field].(map[string]any)
	}
	return in
}

// lacksStatus returns the first version of a CustomResourceDefinition without a status subresource. In it, everybody who may write the
// object may write its status.
func lacksStatus(object *Object) string {
	for _, version := range versions(object) {
		if nested(version, "subresources", "status") == nil {
			return fmt.Sprint(version["name"])
		}
	}
	return ""
}

// statusDefault returns what has a default that sets the status of an object with that schema, or some of it, as in a sentence. The API
// server adds defaults also to what it reads, so such a status needs no operator.
func statusDefault(root map[string]any) string {
	if root["default"] != nil {
		return "the object"
	}
	if field, found := defaulted(nested(root, "properties", "status"), ".status"); found {
		return "the object's " + field
	}
	return ""
}

// defaulted returns the first field with a default in a schema, which describes the field at that path.
func defaulted(schema map[string]any, path string) (field string, found bool) {
	if schema["default"] != nil {
		return path, true
	}
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		switch value := schema[keyword].(type) {
		case []any: // of schemas, such as allOf
			for _, entry := range value {
				if part, ok := entry.(map[string]any); ok && !found {
					field, found = defaulted(part, path)
				}
			}
		case map[string]any:
			switch keyword {
			case "properties", "patternProperties":
				for _, name := range slices.Sorted(maps.Keys(value)) {
					if part, ok := value[name].(map[string]any); ok && !found {
						field, found = defaulted(part, path+"."+name)
					}
				}
			case "items", "additionalProperties":
				field, found = defaulted(value, path+"[]")
			case "not":
				field, found = defaulted(value, path)
			}
		}
		if found {
			return field, true
		}
	}
	return "", false
}

// count says how many there are of a thing.
func count(n int, thing string) string {
	switch n {
	case 0:
		return "none"
	case 1:
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
