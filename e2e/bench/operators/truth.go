package operators

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// falseAvailable counts the versions of Memcacheds that newly say Available=True although at that revision fewer pods were ready
// than the size, or their Deployment said so: whoever waits for Available and then looks at either would find fewer.
func falseAvailable(versions []record.Version) int {
	ready := map[string]map[types.UID]bool{} // pods, by the name of their Memcached
	counted := map[string]int64{}            // status.readyReplicas of Deployments, by the same name
	said := map[types.UID]string{}
	lies := 0
	for _, v := range versions {
		switch v.Object.GetKind() {
		case "Deployment":
			counted[v.Object.GetName()], _, _ = unstructured.NestedInt64(v.Object.Object, "status", "readyReplicas")
			continue
		case "Pod":
			owner := podOf(v.Object)
			if ready[owner] == nil {
				ready[owner] = map[types.UID]bool{}
			}
			if !v.Deleted && framework.IsTrue(v.Object, string(corev1.PodReady)) {
				ready[owner][v.Object.GetUID()] = true
			} else {
				delete(ready[owner], v.Object.GetUID())
			}
			continue
		}
		status := fmt.Sprint(v.Object.Object["status"])
		if v.Deleted || said[v.Object.GetUID()] == status {
			continue // an old status, repeated with another spec, is no claim
		}
		said[v.Object.GetUID()] = status
		size, _, _ := unstructured.NestedInt64(v.Object.Object, "spec", "size")
		if name := v.Object.GetName(); framework.IsTrue(v.Object, "Available") && min(int64(len(ready[name])), counted[name]) < size {
			lies++
		}
	}
	return lies
}

// podOf returns the name of the Memcached that a pod belongs to, which is that of its Deployment: its ReplicaSet has the name
// of the Deployment and a hash.
func podOf(pod *unstructured.Unstructured) string {
	for _, owner := range pod.GetOwnerReferences() {
		if i := strings.LastIndexByte(owner.Name, '-'); owner.Kind == "ReplicaSet" && i > 0 {
			return owner.Name[:i]
		}
	}
	return ""
}
