package v1alpha1

import (
	"maps"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/conversion"

	cachev1beta1 "github.com/example/operator-testbed/tutorial/15-versions/api/v1beta1"
)

// AnnotationMaxConnections is the annotation in which an object of this version carries spec.network.maxConnections, a field that only
// v1beta1 has.
const AnnotationMaxConnections = "cache.example.com/max-connections"

// ConvertTo writes this Memcached to the hub, which is a v1beta1 Memcached. It never fails, because an object that can't be converted
// can't be read, and neither can any list that it is in.
func (mc *Memcached) ConvertTo(hub conversion.Hub) error {
	to := hub.(*cachev1beta1.Memcached)
	to.ObjectMeta = mc.ObjectMeta
	to.Annotations, to.Spec.Network.MaxConnections = takeMaxConnections(mc.Annotations)
	to.Spec.Replicas = mc.Spec.Size
	to.Spec.Network.Port = mc.Spec.ContainerPort
	to.Status = cachev1beta1.MemcachedStatus(mc.Status)
	return nil
}

// ConvertFrom reads this Memcached from the hub.
func (mc *Memcached) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*cachev1beta1.Memcached)
	mc.ObjectMeta = from.ObjectMeta
	mc.Annotations = withMaxConnections(from.Annotations, from.Spec.Network.MaxConnections)
	mc.Spec.Size = from.Spec.Replicas
	mc.Spec.ContainerPort = from.Spec.Network.Port
	mc.Status = MemcachedStatus(from.Status)
	return nil
}

// takeMaxConnections returns the annotations without AnnotationMaxConnections, and its value. The value is nil if there is none, or if
// it is not one that v1beta1 allows.
func takeMaxConnections(annotations map[string]string) (map[string]string, *int32) {
	text, found := annotations[AnnotationMaxConnections]
	if !found {
		return annotations, nil
	}
	annotations = maps.Clone(annotations)
	delete(annotations, AnnotationMaxConnections)
	if len(annotations) == 0 {
		annotations = nil
	}
	value, err := strconv.ParseInt(text, 10, 32)
	if err != nil || value < 1 || value > 65536 {
		return annotations, nil
	}
	return annotations, new(int32(value))
}

// withMaxConnections returns the annotations with value as AnnotationMaxConnections, or without it if value is nil.
func withMaxConnections(annotations map[string]string, value *int32) map[string]string {
	annotations, _ = takeMaxConnections(annotations)
	if value == nil {
		return annotations
	}
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationMaxConnections] = strconv.Itoa(int(*value))
	return annotations
}
