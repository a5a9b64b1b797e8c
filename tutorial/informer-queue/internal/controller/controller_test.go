package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// A ticket that can't be read does not stop the controller, and the others are found by their destination.
func TestIndexWithAnUnreadableTicket(t *testing.T) {
	ticket := func(name string, spec any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "default", "name": name}, "spec": spec}}
	}
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byDestination: destination})
	for _, object := range []any{ticket("unreadable", "London"), ticket("readable", map[string]any{"to": "London"})} {
		if err := indexer.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := indexer.ByIndex(byDestination, "London"); err != nil || len(there) != 1 {
		t.Errorf("%d tickets to London, %v; want the one that can be read", len(there), err)
	}
}
