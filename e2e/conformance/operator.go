package conformance

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Operator is an operator under test as the points see it. Its own suite implements it with the operator's types, and a [Mapping]
// implements it for any operator.
type Operator interface {
	// Describe says what the operator's API calls what.
	Describe() API
	// New returns an object of that name, size and, where the API has one, port, which has not been created.
	New(namespace, name string, size, port int32) client.Object
	// Resize changes the size of an object that New returned.
	Resize(object client.Object, size int32)
	// SetPort changes the port of an object that New returned. It does nothing where the API has none.
	SetPort(object client.Object, port int32)
}

// API says what an operator's API calls what, and what the operator can do.
type API struct {
	// Fields are the places of the fields, with dots between their parts.
	Fields Fields `json:"fields"`
	// Conditions are the types of the conditions.
	Conditions Conditions `json:"conditions"`
	// Reasons are the reasons that conditions give for failures.
	Reasons Reasons `json:"reasons"`
	// Deployment is the name of an object's Deployment, in which {name} stands for the object's own.
	Deployment string `json:"deployment"`
	// Largest is the largest size that the API allows, if that is less than 5.
	Largest int32 `json:"largest,omitempty"`
	// DeadlineArgs come behind the operator's arguments for the one point that waits until the operator gives up on its pods: they
	// make it do so after a second. Without them, that point does not apply.
	DeadlineArgs []string `json:"deadlineArgs,omitempty"`
}

// Fields are places such as "spec.size".
type Fields struct {
	// Size is how many pods are asked for.
	Size string `json:"size"`
	// Port is the port that memcached listens on. Empty means that the API has none, and points about it do not apply.
	Port string `json:"port,omitempty"`
}

// Conditions are the types of conditions in status.conditions.
type Conditions struct {
	// Available says whether as many pods are ready as asked for.
	Available string `json:"available"`
	// Progressing says whether the pods are on their way to what is asked for. Empty means that the API has none: points that
	// are only about it then do not apply, and others leave it out.
	Progressing string `json:"progressing,omitempty"`
	// Degraded says whether something keeps it from that. Empty means that the API has none: points about failures then
	// ask that Available is False.
	Degraded string `json:"degraded,omitempty"`
}

// Reasons are reasons for failures. Where one is empty, any reason does.
type Reasons struct {
	// Foreign is that another owner's Deployment has the name.
	Foreign string `json:"foreign,omitempty"`
	// Quota is that a quota refuses the Deployment or its pods.
	Quota string `json:"quota,omitempty"`
	// Paused is that the Deployment is paused while a rollout is due.
	Paused string `json:"paused,omitempty"`
}
