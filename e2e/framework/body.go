package framework

import (
	"encoding/json"
	"fmt"
)

// timestamps are the fields that hold a time in what operators write.
var timestamps = map[string]bool{
	"lastTransitionTime": true,
	"lastUpdateTime":     true,
	"lastHeartbeatTime":  true,
	"creationTimestamp":  true,
	"time":               true,
}

// withoutTimes returns a JSON text in canonical form without its timestamps.
func withoutTimes(body []byte) (string, error) {
	var content any
	if err := json.Unmarshal(body, &content); err != nil {
		return "", fmt.Errorf("the request body is no JSON: %w", err)
	}
	canonical, err := json.Marshal(dropTimes(content))
	return string(canonical), err
}

func dropTimes(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			if timestamps[key] {
				delete(value, key)
				continue
			}
			value[key] = dropTimes(field)
		}
	case []any:
		for i := range value {
			value[i] = dropTimes(value[i])
		}
	}
	return value
}
