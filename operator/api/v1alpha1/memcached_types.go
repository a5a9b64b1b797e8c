package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The bounds and defaults of the fields of MemcachedSpec, as the schema has them.
const (
	MinSize     int32 = 1
	MaxSize     int32 = 5
	DefaultSize int32 = 1

	MinContainerPort     int32 = 1
	MaxContainerPort     int32 = 65535
	DefaultContainerPort int32 = 11211
)

// MemcachedSpec is the desired state of a Memcached.
//
// Its numbers are pointers, so that a typed client can distinguish "not set", for which the API server sets the default,
// from 0, which the API server refuses.
type MemcachedSpec struct {
	// size is the number of memcached pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +kubebuilder:default=1
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	// +optional
	Size *int32 `json:"size,omitempty"`

	// containerPort is the TCP port that memcached listens on in each pod. Changing it replaces the pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=11211
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Container port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	// +optional
	ContainerPort *int32 `json:"containerPort,omitempty"`
}

// MemcachedStatus is the observed state of a Memcached, computed from one snapshot of the Memcached, its Deployment and the
// Deployment's pods. A pod is ready here when the Deployment owns it (through a ReplicaSet), it runs the current
// configuration, its Ready condition is true and it is not being deleted.
type MemcachedStatus struct {
	// conditions are Available, Progressing and Degraded. Each carries the generation of the spec that it is about. Conditions of
	// other types belong to other writers.
	// +kubebuilder:validation:XValidation:rule="self.all(c, c.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z'))",message="lastTransitionTime must be a time such as 2006-01-02T15:04:05Z"
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// nodes are the names of the ready pods, sorted.
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes"
	// +optional
	Nodes []string `json:"nodes,omitempty"`

	// replicas is the number of pods that the Deployment is set to. The scale subresource reports it.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of ready pods: the length of nodes.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// selector selects the pods of this Memcached, and no others, in the form that a HorizontalPodAutoscaler reads from
	// the scale subresource and that "kubectl get pods --selector" takes.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector"
	// +optional
	Selector string `json:"selector,omitempty"`
}

// Memcached is a number of memcached pods that an operator keeps running. Its name becomes the value of a label, which is where the limit of 63 characters comes from.
// ---
// The rule about the name is for creation. A rule about the whole object is evaluated at each update, also of the status and of
// finalizers: one that is older than the rule, and has a longer name, could not even be deleted.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=mc,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:metadata:labels="app.kubernetes.io/part-of=operator-testbed"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters, because it becomes the value of a label",optionalOldSelf=true
// +operator-sdk:csv:customresourcedefinitions:displayName="Memcached",resources={{Deployment,v1,memcached-sample},{ReplicaSet,v1,""},{Pod,v1,""}}
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=".spec.size"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=".status.readyReplicas"
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name="Degraded",type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`
// +kubebuilder:printcolumn:name="Port",type=integer,priority=1,JSONPath=".spec.containerPort"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Degraded")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type Memcached struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard metadata of every object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +kubebuilder:default={}
	// +optional
	Spec MemcachedSpec `json:"spec,omitzero"`

	// status is the observed state.
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
