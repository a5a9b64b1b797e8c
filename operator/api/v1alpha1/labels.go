package v1alpha1

// The labels and annotations that the operator sets, in addition to the recommended labels of app.kubernetes.io.
const (
	// LabelMemcachedUID holds the UID of the Memcached that a pod, ReplicaSet or Deployment was created for. It is the Deployment's
	// whole selector, so two Memcacheds never share pods, even if one takes the name of the other. After a restore from a backup,
	// the Memcached that owns them has another UID.
	LabelMemcachedUID = "cache.example.com/memcached-uid"

	// LabelTemplateHash holds, on pods and ReplicaSets, the hash of the pod template that they were created from. It
	// distinguishes pods of the current configuration from earlier ones, and is not part of a selector.
	LabelTemplateHash = "cache.example.com/template-hash"

	// AnnotationFieldsHash holds, on the Deployment, the hash of the names of all fields that the operator last set there. When a
	// new version of the operator sets fewer fields, every field that it does set may be unchanged, and only this annotation shows
	// that something has to be removed.
	AnnotationFieldsHash = "cache.example.com/fields-hash"
)

// FieldManager is the name under which the operator owns fields, as in metadata.managedFields.
const FieldManager = "memcached-operator"
