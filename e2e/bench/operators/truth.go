package operators

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// falseAvailable counts the versions of Memcacheds that newly say Available=True although fewer pods were ready than the size, or their
// Deployment counted fewer: a client that waits for Available and then looks at either would find fewer.
func falseAvailable(versions []record.Version) int {
	byName := map[string][]record.Version{}
	uids := map[types.UID]string{}
	for _, v := range versions {
		name := memcachedOf(v.Object)
		byName[name] = append(byName[name], v)
		if v.Object.GetKind() == memcached.Kind {
			uids[v.Object.GetUID()] = name
		}
	}
	count := 0
	for uid, name := range uids {
		count += len(framework.Early(byName[name], uid, "Available", "spec.size", framework.ReadyPods, framework.CountedBy(name)))
	}
	return count
}

// memcachedOf returns the name of the Memcached that an object is, or belongs to. A Deployment has the same name; a pod's ReplicaSet
// has that name and a hash.
func memcachedOf(object *unstructured.Unstructured) string {
	for _, owner := range object.GetOwnerReferences() {
		if i := strings.LastIndexByte(owner.Name, '-'); owner.Kind == "ReplicaSet" && i > 0 {
			return owner.Name[:i]
		}
	}
	return object.GetName()
}
