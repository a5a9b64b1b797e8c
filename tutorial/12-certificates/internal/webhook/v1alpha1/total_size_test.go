package v1alpha1

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/operator-testbed/tutorial/12-certificates/api/v1alpha1"
)

func TestCheckTotalSize(t *testing.T) {
	sized := func(name string, size int32) cachev1alpha1.Memcached {
		return cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: cachev1alpha1.MemcachedSpec{Size: &size}}
	}
	leaving := sized("leaving", 5)
	leaving.DeletionTimestamp = new(metav1.Now())
	unset := cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "unset"}}
	for _, test := range []struct {
		name      string
		limit     int64
		size      int32
		namespace []cachev1alpha1.Memcached
		want      string // "" if the size is allowed
	}{
		{"alone, at the limit", 3, 3, nil, ""},
		{"alone, above it", 3, 4, nil, "leaves 3, and 4 was asked for"},
		{"beside others, at the limit", 6, 1, []cachev1alpha1.Memcached{sized("a", 2), sized("b", 3)}, ""},
		{"beside others, above it", 6, 2, []cachev1alpha1.Memcached{sized("a", 2), sized("b", 3)}, "the others have 5, which leaves 1, and 2 was asked for"},
		{"its new size in place of the old", 5, 5, []cachev1alpha1.Memcached{sized("mine", 4)}, ""},
		{"one that is being deleted", 5, 5, []cachev1alpha1.Memcached{leaving}, ""},
		{"one with the default size", 2, 2, []cachev1alpha1.Memcached{unset}, "the others have 1"},
		{"others above a lowered limit", 2, 1, []cachev1alpha1.Memcached{sized("a", 5)}, "leaves 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := checkTotalSize(test.limit, "mine", test.size, test.namespace)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || err.Field != "spec.size" || !strings.Contains(err.Detail, test.want)):
				t.Errorf("got %v, want spec.size refused with %q", err, test.want)
			}
		})
	}
}
