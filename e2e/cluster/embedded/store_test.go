package embedded_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/cluster/embedded"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/tier"
)

// TestStore starts a cluster that makes a store and a second one with the same store, and compares them.
func TestStore(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	stores := t.TempDir()
	first := ownBed(t, "store-first", embedded.WithStores(stores))
	made := stored(t, stores)
	second := ownBed(t, "store-second", embedded.WithStores(stores))
	if again := stored(t, stores); again != made {
		t.Errorf("expected the second cluster to use the store %s, there is %s now", made, again)
	}

	shared := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}
	if one, other := first.uid(t, shared), second.uid(t, shared); one != other {
		t.Errorf("expected kube-system to come from the store in both clusters, its UIDs are %s and %s", one, other)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "default"}}
	if one, other := first.uid(t, account), second.uid(t, account); one == other {
		t.Errorf("expected each cluster to have its own ServiceAccounts, both have one with the UID %s", one)
	}
	for name, b := range map[string]*bed{"store-first": first, "store-second": second} {
		b.expectOwnPort(t)
		namespace := b.namespace(t)
		b.create(t, deployment(namespace, name, 1))
		b.settles(t, namespace, name)
	}
}

// TestWithoutStore starts a cluster where no store can be written: kube-apiserver begins with nothing.
func TestWithoutStore(t *testing.T) {
	tier.All(t)
	needsCluster(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := ownBed(t, "store-none", embedded.WithStores(filepath.Join(file, "stores")))
	b.expectOwnPort(t)
	namespace := b.namespace(t)
	b.create(t, deployment(namespace, "plain", 1))
	b.settles(t, namespace, "plain")
}

// stored is the content of the one store in a directory, and there is nothing else in it.
func stored(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || filepath.Ext(entries[0].Name()) != ".store" {
		t.Fatalf("expected one store in %s and nothing else, got %v", dir, entries)
	}
	content, err := os.ReadFile(filepath.Join(dir, entries[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s with the SHA-256 %x", entries[0].Name(), sha256.Sum256(content))
}

// uid reads an object and returns its UID.
func (b *bed) uid(t *testing.T, object client.Object) types.UID {
	t.Helper()
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return object.GetUID()
}

// expectOwnPort waits until the Service "kubernetes" leads to this cluster's API server.
func (b *bed) expectOwnPort(t *testing.T) {
	t.Helper()
	_, port, _ := strings.Cut(strings.TrimPrefix(b.cluster.KubernetesRestConfig().Host, "https://"), ":")
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}}
	framework.WaitForObject(t.Context(), b.scope(t), service, HaveField("Spec.Ports", ConsistOf(HaveField("TargetPort.IntVal", int32(number)))))
}
