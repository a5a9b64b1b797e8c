package v1alpha1

// What the operator writes on the objects that it makes, beside the recommended labels of app.kubernetes.io.
const (
	// LabelMemcachedUID holds the UID of a pod's, ReplicaSet's or Deployment's Memcached. It is the whole selector of the
	// Deployment: two Memcacheds never share pods, not even when one takes the name of the other.
	LabelMemcachedUID = "cache.example.com/memcached-uid"

	// LabelTemplateHash holds, on pods and ReplicaSets, the hash of the pod template that they were made from: it tells
	// pods of the current configuration from earlier ones. It is in no selector.
	LabelTemplateHash = "cache.example.com/template-hash"

	// AnnotationConfigurationHash holds, on the Deployment, the hash of everything that the operator set there last. When
	// a new version of the operator sets fewer fields, every field it does set may be as it should, and only this
	// annotation tells that there is something to remove.
	AnnotationConfigurationHash = "cache.example.com/configuration-hash"
)

// FieldManager is the name under which the operator owns fields, as in metadata.managedFields.
const FieldManager = "memcached-operator"
