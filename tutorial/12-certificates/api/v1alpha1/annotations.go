package v1alpha1

// Annotations of a Memcached.
const (
	// AnnotationRequestedBy holds the name of the user who created the Memcached. The operator's webhook sets it, and nobody can
	// change it later.
	AnnotationRequestedBy = "cache.example.com/requested-by"

	// AnnotationDeletionProtection, set to "true" by a user, protects the Memcached from deletion until it is removed or set to
	// "false". Deleting the namespace, an owner or the CustomResourceDefinition deletes the Memcached anyway.
	AnnotationDeletionProtection = "cache.example.com/deletion-protection"
)
