package v1alpha1

// What the API server puts for fields of MemcachedSpec that are not set, as the schema has it.
const (
	DefaultSize          int32 = 1
	DefaultContainerPort int32 = 11211
)
