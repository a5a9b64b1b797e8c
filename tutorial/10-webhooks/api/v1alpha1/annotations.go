package v1alpha1

// Annotations of a Memcached.
const (
	// AnnotationRequestedBy holds the name of the user who created the Memcached. The operator's webhook writes it; nobody
	// else can, nor change it later.
	AnnotationRequestedBy = "cache.example.com/requested-by"

	// AnnotationDeletionProtection, set to "true" by a user, keeps the Memcached from being deleted until it is taken off
	// or set to "false". The deletion of its namespace, or of an owner, takes the Memcached along all the same.
	AnnotationDeletionProtection = "cache.example.com/deletion-protection"
)
