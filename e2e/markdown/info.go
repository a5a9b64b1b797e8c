package markdown

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// info is what stands behind the opening fence of a block: its language and attributes.
type info struct {
	language   string
	attributes map[string]string // a flag has an empty value
}

// attribute is a flag, key=value or key="a value of several words".
var attribute = regexp.MustCompile(`^([a-z]+)(?:=(?:"([^"]*)"|([^\s"]+)))?(?:\s+|$)`)

func parseInfo(text string) (info, error) {
	language, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	parsed := info{language: language, attributes: map[string]string{}}
	for rest = strings.TrimSpace(rest); rest != ""; {
		match := attribute.FindStringSubmatch(rest)
		if match == nil {
			return info{}, fmt.Errorf("the attributes of a block are words, key=value or key=\"several words\": %q is none of these", rest)
		}
		if _, twice := parsed.attributes[match[1]]; twice {
			return info{}, fmt.Errorf("the attribute %s is there twice", match[1])
		}
		parsed.attributes[match[1]] = match[2] + match[3]
		rest = rest[len(match[0]):]
	}
	return parsed, nil
}

// has reports whether all of the attributes are given.
func (i info) has(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		_, given := i.attributes[key]
		return !given
	})
}
