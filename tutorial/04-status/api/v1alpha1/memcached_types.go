package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemcachedSpec is what a user asks for: the desired state.
type MemcachedSpec struct {
	// size is the number of memcached pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +kubebuilder:default=1
	// +optional
	Size *int32 `json:"size,omitempty"`

	// containerPort is the TCP port that memcached listens on in each pod.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=11211
	// +optional
	ContainerPort *int32 `json:"containerPort,omitempty"`
}

// MemcachedStatus is what the operator has seen: the current state.
type MemcachedStatus struct {
	// conditions are Available, Progressing and Degraded. Each carries the generation of the spec that it is about.
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z'))",message="lastTransitionTime must be a time such as 2006-01-02T15:04:05Z"
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// nodes are the names of the ready pods, sorted.
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`
}

// Memcached is a number of memcached pods that an operator keeps running.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=mc
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=".spec.size"
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type Memcached struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of every object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what is wanted.
	// +kubebuilder:default={}
	// +optional
	Spec MemcachedSpec `json:"spec,omitzero"`

	// status is what was last seen.
	// +optional
	Status MemcachedStatus `json:"status,omitzero"`
}

// MemcachedList is a list of Memcacheds.
//
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []Memcached `json:"items"`
}
