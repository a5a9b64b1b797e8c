package conformance

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Operator is the operator under test, from the points' perspective. Its own suite implements it with the operator's Go types, and
// [Mapping] implements it for any operator.
type Operator interface {
	// Describe returns the description of the operator's API.
	Describe() API
	// New returns a new object of that name, size and, if the API has one, port. It does not create the object on the cluster.
	New(namespace, name string, size, port int32) client.Object
	// Resize changes the size of an object that New returned.
	Resize(object client.Object, size int32)
	// SetPort changes the port of an object that New returned. It does nothing if the API has no port.
	SetPort(object client.Object, port int32)
}

// API describes an operator's API: the names of its fields and conditions, and what it supports.
type API struct {
	// Fields are the paths of the fields, with dots between their parts.
	Fields Fields `json:"fields"`
	// Conditions are the types of the conditions.
	Conditions Conditions `json:"conditions"`
	// Reasons are the reasons of conditions for failures.
	Reasons Reasons `json:"reasons"`
	// Deployment is the name of an object's Deployment, in which {name} stands for the object's name.
	Deployment string `json:"deployment"`
	// Largest is the largest size that the API allows, if that is less than 5.
	Largest int32 `json:"largest,omitempty"`
	// DeadlineArgs are added to the operator's arguments for the point that waits until the operator gives up on its pods, so that it does
	// so after a second. Without them, that point does not apply.
	DeadlineArgs []string `json:"deadlineArgs,omitempty"`
}

// Fields are paths such as "spec.size".
type Fields struct {
	// Size is the requested number of pods.
	Size string `json:"size"`
	// Port is the port that memcached listens on. Empty means that the API has no such field; points about it then do not apply.
	Port string `json:"port,omitempty"`
}

// Conditions are the types of the conditions in status.conditions.
type Conditions struct {
	// Available is true if as many pods are ready as requested.
	Available string `json:"available"`
	// Progressing is true while the pods do not yet match the spec. Empty means that the API has no such condition: points that are only
	// about it then do not apply, and others leave it out.
	Progressing string `json:"progressing,omitempty"`
	// Degraded is true if a failure prevents that. Empty means that the API has no such condition: points about failures then require that
	// Available is False.
	Degraded string `json:"degraded,omitempty"`
}

// Reasons are the reasons of conditions for failures. If one is empty, any reason is accepted.
type Reasons struct {
	// Foreign is the reason if another owner's Deployment has the name.
	Foreign string `json:"foreign,omitempty"`
	// Quota is the reason if a quota refuses the Deployment or its pods.
	Quota string `json:"quota,omitempty"`
	// Paused is the reason if the Deployment is paused while a rollout is due.
	Paused string `json:"paused,omitempty"`
}
