// Package v1 is the API of the flight operator: the group flights.com, version v1.
//
// +kubebuilder:object:generate=true
// +groupName=flights.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and the version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: "flights.com", Version: "v1"}

// AddToScheme registers the Go types of this group and version with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &FlightTicket{}, &FlightTicketList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
