// Package demo draws one Memcached for a person: the object, the Deployment
// that the operator made of it, the pods, and the three conditions.
//
// The drawing is pure. [State] says what there is to see at one moment,
// [Observe] finds the API objects that belong to it, [State.Picture] turns it into text, and
// [Changes] names what differs between two moments. Two parts have effects:
// [Follow] watches a cluster, and [Screen] writes lines and, on a terminal, keeps
// the newest picture below them.
package demo
