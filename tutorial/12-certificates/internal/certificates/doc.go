// Package certificates issues and rotates the certificates of the operator's own servers, and makes the API server trust them.
//
// A certificate authority is kept in a Secret that all replicas share. Each replica signs a certificate for itself, keeps it in
// memory, and makes sure that the operator's webhook configurations trust the authority.
//
// A rotation never fails an admission. An authority gets its successor long before it expires, and the webhooks trust both from
// then on. The successor signs only after every webhook has trusted it for a while, and the predecessor stays trusted until it
// expires. The functions in authority.go, bundle.go and decide.go are pure and decide what is due when; reconciler.go does it.
package certificates
