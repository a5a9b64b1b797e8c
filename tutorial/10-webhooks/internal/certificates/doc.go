// Package certificates makes and rotates the certificates of the operator's own servers, and makes the API server trust them.
//
// A certificate authority is kept in a Secret that all replicas share. Each replica signs a certificate for itself, which it
// keeps in memory, and sees to it that the operator's webhook configurations trust the authority.
//
// A rotation never fails an admission. The successor of an authority is made long before that expires, is trusted beside it
// from then on, and signs only after every webhook has trusted it for a while; the predecessor stays trusted until it
// expires. What is to be done when is decided in authority.go, bundle.go and decide.go, without effects; reconciler.go does it.
package certificates
