package operators

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/record"
)

var results = []Result{
	{Subject: "ours", Objects: 1, Requests: map[string]int{"create": 1}, Heap: 3, Foreign: 5000, ForeignHeap: 2},
	{Subject: floor, Objects: 101, Available: 10 * time.Second, Scale: Phase{Time: 10 * time.Second, WritesMean: 2, WritesMax: 2}, Rollout: Phase{Time: 4 * time.Second}},
	{
		Subject: "scaffold", Objects: 101, Requests: map[string]int{"create": 101}, CPU: 4 * time.Second, PeakMemory: 40,
	},
	{
		Subject: "ours", Objects: 101, Available: 15 * time.Second, Requests: map[string]int{"create": 101, "patch": 202, "list": 3},
		WritesMean: 3, WritesMax: 6, Heap: 4, CPU: 3 * time.Second, PeakMemory: 50, Reconciles: 6.5,
		Repairs: []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond},
		Scale:   Phase{Time: 15 * time.Second, WritesMean: 2.5, WritesMax: 4}, Rollout: Phase{Time: 5 * time.Second, WritesMean: 2, WritesMax: 2},
	},
	{Subject: floor, Objects: 7, PodsReadyAfter: lateAfter, Scale: Phase{Time: time.Second}},
	{Subject: "scaffold", Objects: 7, PodsReadyAfter: lateAfter, Requests: map[string]int{"create": 7}, Scale: Phase{Time: 10 * time.Second}},
	{Subject: "ours", Objects: 7, PodsReadyAfter: lateAfter, Requests: map[string]int{"create": 7}, Scale: Phase{Time: 9 * time.Second}},
}

func TestAims(t *testing.T) {
	verdicts := map[string]string{}
	for _, aim := range Aims(results, "ours") {
		verdicts[aim.Name] = aim.Verdict()
	}
	g := NewWithT(t)
	g.Expect(verdicts).To(HaveKeyWithValue("writes per object, mean, with 101 objects", "met"))
	g.Expect(verdicts).To(HaveKeyWithValue("writes per object, most, with 101 objects", "missed by 2.00 (50 %)"))
	g.Expect(verdicts).To(HaveKeyWithValue("time to the floor's with 101 objects", "missed by 0.15 (11 %)"))
	g.Expect(verdicts).To(HaveKeyWithValue("reconciles per object with 101 objects", "missed by 1.50 (30 %)"))
	g.Expect(verdicts).To(HaveKeyWithValue("CPU time to the scaffold's with 101 objects", "missed by 0.05 (7 %)"))
	g.Expect(verdicts).To(HaveKeyWithValue("peak memory with 101 objects", "met"))
	g.Expect(verdicts).To(HaveKeyWithValue("writes per object for another size, mean, with 101 objects", "met"))
	g.Expect(verdicts).To(HaveKeyWithValue("writes per object for another size, most, with 101 objects", "missed by 1.00 (33 %)"))
	g.Expect(verdicts).To(HaveKeyWithValue("time for another size to the floor's with 101 objects", "missed by 0.30 (25 %)"))
	g.Expect(verdicts).To(HaveKeyWithValue("time for a rollout to the floor's with 101 objects", "met"))
	g.Expect(verdicts).To(HaveKeyWithValue("peak memory to the scaffold's with 101 objects", "missed by 0.25 (25 %)"))
	g.Expect(verdicts).To(HaveKeyWithValue("time for another size to the scaffold's with 7 objects, pods ready after 5s", "met"))
	g.Expect(verdicts).To(HaveKeyWithValue("heap per object", "missed by 0 KiB (2 %)"))
	g.Expect(verdicts).To(HaveKeyWithValue("heap for 5000 Deployments of others", "missed by 1 MiB (100 %)"))
}

func TestWriteMarkdown(t *testing.T) {
	var b strings.Builder
	g := NewWithT(t)
	g.Expect(WriteMarkdown(&b, results, "ours")).To(Succeed())
	g.Expect(b.String()).To(ContainSubstring("\n| floor | 101 | 10.0 s |  |  |"))
	g.Expect(b.String()).To(ContainSubstring("| ours | 101 | 15.0 s | 3 | 101 | 202 | 3.0 (max 6) | 0 | 0 | 0 | 0 | 6.5 | 3.0 s | 50 MiB | 2, 3 ms |\n"))
	g.Expect(b.String()).NotTo(ContainSubstring("| ours | 7 | 0.0 s |"), "what takes longer is in the second table")
	g.Expect(b.String()).To(ContainSubstring("\n| ours | 101 | 0s | 15.0 s | 2.50 (max 4) | 5.0 s | 2.00 (max 2) |\n"))
	g.Expect(b.String()).To(ContainSubstring("\n| ours | 7 | 5s | 9.0 s | 0.00 (max 0) | 0.0 s | 0.00 (max 0) |\n"))
	g.Expect(b.String()).To(ContainSubstring("| heap per object | 10.24 KiB | 10 KiB | missed by 0 KiB (2 %) |\n"))
}

func TestFits(t *testing.T) {
	g := NewWithT(t)
	measured := func(subject string, objects int, peak, limit float64) Result {
		return Result{Subject: subject, Objects: objects, PeakMemory: peak, MemoryLimit: limit, Requests: map[string]int{"create": objects}}
	}
	late := measured("ours", 5000, 500, 128)
	late.PodsReadyAfter = lateAfter
	results := []Result{
		{Subject: floor, Objects: 1}, measured("ours", 1, 50, 128), measured("steady", 1, 50, 128), measured("unlimited", 1, 50, 0),
		measured("ours", 101, 55, 128), measured("steady", 101, 50, 128), measured("ours", 1025, 82, 128), measured("unlimited", 101, 90, 0), late,
	}
	fits := Fits(results)
	g.Expect(fits).To(ConsistOf(And(HaveField("Subject", "ours"), HaveField("PerObject", 32.0), HaveField("Objects", 1+78*32))))
	var b strings.Builder
	g.Expect(WriteMarkdown(&b, results, "ours")).To(Succeed())
	g.Expect(b.String()).To(ContainSubstring("\n\n| subject | peak memory |"))
	g.Expect(b.String()).To(ContainSubstring("\n| ours | 50 MiB with 1 | 82 MiB with 1025 | 32 KiB | 128 MiB | 2497 |\n\n| aim"))

	manifests, err := manifest.Render("../../../operator/config/default")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(memoryLimitOf(manifests)).To(BeNumerically(">", 0))
}

func TestWritePlot(t *testing.T) {
	var b strings.Builder
	g := NewWithT(t)
	g.Expect(WritePlot(&b, results, "a < b")).To(Succeed())
	decoder := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := decoder.Token(); err != nil {
			g.Expect(err).To(MatchError(io.EOF), "the picture is well-formed")
			break
		}
	}
	g.Expect(b.String()).To(ContainSubstring(">15</text>"))
	g.Expect(b.String()).To(ContainSubstring("aim: at most 3.1"))
}

func TestScrape(t *testing.T) {
	g := NewWithT(t)
	text := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")

	text = "# TYPE controller_runtime_reconcile_total counter\n" +
		"controller_runtime_reconcile_total{controller=\"memcached\",result=\"success\"} 5\n" +
		"controller_runtime_reconcile_total{controller=\"memcached\",result=\"requeue_after\"} 2\n" +
		"controller_runtime_reconcile_total{controller=\"certificates\",result=\"success\"} 9\n" +
		"# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 2.5\n"
	const heap = "# TYPE go_gc_heap_live_bytes gauge\ngo_gc_heap_live_bytes 1.572864e+06\n"
	_, err := scrape(t.Context(), address)
	g.Expect(err).To(MatchError(ContainSubstring("go_gc_heap_live_bytes")), "without the heap")
	text += heap
	g.Expect(scrape(t.Context(), address)).To(Equal(metrics{reconciles: 7, cpu: 2500 * time.Millisecond, heap: 1.5}))
	text = heap
	_, err = scrape(t.Context(), address)
	g.Expect(err).To(MatchError(ContainSubstring("reconciles of a controller named memcached")))
}

func TestCountRequests(t *testing.T) {
	event := func(verb, name string, code int32) auditv1.Event {
		return auditv1.Event{Verb: verb, ObjectRef: &auditv1.ObjectReference{Namespace: namespace, Name: name}, ResponseStatus: &metav1.Status{Code: code}}
	}
	r := Result{Objects: 2}
	countRequests(&r, []auditv1.Event{
		event("create", "a", 201), event("patch", "a", 200), event("update", "b", 409), event("list", "", 200),
	})
	g := NewWithT(t)
	g.Expect(r.Requests).To(Equal(map[string]int{"create": 1, "patch": 1, "update": 1, "list": 1}))
	g.Expect(r.WritesMean).To(Equal(1.5))
	g.Expect(r.WritesMax).To(Equal(2))
	g.Expect(r.Conflicts).To(Equal(1))
}

func TestTargetIsReached(t *testing.T) {
	deployment := func(generation, observed, replicas, updated, available int64, annotations map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": "Deployment", "metadata": map[string]any{"generation": generation},
			"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}},
			"status": map[string]any{
				"observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated, "availableReplicas": available,
			},
		}}
	}
	memcached := func(generation int64, condition map[string]any) *unstructured.Unstructured {
		condition["type"] = "Available"
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": "Memcached", "metadata": map[string]any{"generation": generation}, "status": map[string]any{"conditions": []any{condition}},
		}}
	}
	restarted := map[string]any{restartedAt: "now"}
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		want   target
		is     bool
	}{
		"all pods":                {deployment(2, 2, 5, 5, 5, nil), target{size: 5}, true},
		"not observed":            {deployment(2, 1, 5, 5, 5, nil), target{size: 5}, false},
		"too few":                 {deployment(2, 2, 5, 5, 3, nil), target{size: 5}, false},
		"old ones left":           {deployment(2, 2, 6, 5, 5, nil), target{size: 5}, false},
		"old ones only":           {deployment(2, 2, 5, 0, 5, nil), target{size: 5}, false},
		"not yet restarted":       {deployment(2, 2, 5, 5, 5, nil), target{size: 5, restarted: true}, false},
		"restarted":               {deployment(3, 3, 5, 5, 5, restarted), target{size: 5, restarted: true}, true},
		"of an earlier spec":      {memcached(2, map[string]any{"status": "True", "observedGeneration": int64(1)}), target{size: 5}, false},
		"of the current spec":     {memcached(2, map[string]any{"status": "True", "observedGeneration": int64(2)}), target{size: 5}, true},
		"of whatever spec":        {memcached(2, map[string]any{"status": "True"}), target{size: 5}, true},
		"another condition":       {memcached(2, map[string]any{"status": "True"}), target{size: 5, condition: "Deployed"}, false},
		"a Memcached without any": {memcached(2, map[string]any{"status": "False"}), target{size: 5}, false},
	} {
		if got := tc.want.isReached(tc.object); got != tc.is {
			t.Errorf("%s: %t, want %t", name, got, tc.is)
		}
	}
}

func TestFalseAvailable(t *testing.T) {
	pod := func(name, ready string) record.Version {
		return record.Version{Object: &unstructured.Unstructured{Object: map[string]any{
			"kind": "Pod",
			"metadata": map[string]any{"uid": name, "ownerReferences": []any{
				map[string]any{"kind": "ReplicaSet", "name": "cache-0001-5f7d"},
			}},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
		}}}
	}
	memcached := func(available string, written int64) record.Version {
		return record.Version{Object: &unstructured.Unstructured{Object: map[string]any{
			"kind": "Memcached", "metadata": map[string]any{"uid": "m", "name": "cache-0001"}, "spec": map[string]any{"size": int64(2)},
			"status": map[string]any{"written": written, "conditions": []any{map[string]any{"type": "Available", "status": available}}},
		}}}
	}
	deployment := func(ready int64) record.Version {
		return record.Version{Object: &unstructured.Unstructured{Object: map[string]any{
			"kind": "Deployment", "metadata": map[string]any{"name": "cache-0001", "uid": "d"}, "status": map[string]any{"readyReplicas": ready},
		}}}
	}
	allReady := []record.Version{pod("a", "True"), pod("b", "True"), deployment(2)}
	for name, tc := range map[string]struct {
		versions []record.Version
		early    int
	}{
		"true":                  {append(allReady[:3:3], memcached("True", 1)), 0},
		"before the pods":       {[]record.Version{pod("a", "True"), deployment(2), memcached("True", 1), pod("b", "True")}, 1},
		"before the Deployment": {[]record.Version{pod("a", "True"), pod("b", "True"), deployment(1), memcached("True", 1), deployment(2)}, 1},
		"before there was any":  {[]record.Version{memcached("True", 1)}, 1},
		"only repeated":         {append(allReady[:3:3], memcached("True", 1), pod("b", "False"), memcached("True", 1)), 0},
		"said again":            {append(allReady[:3:3], memcached("True", 1), pod("b", "False"), memcached("True", 2)), 1},
		"said again, uncounted": {append(allReady[:3:3], memcached("True", 1), deployment(1), memcached("True", 2)), 1},
		"it is not said":        {[]record.Version{memcached("False", 1)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range tc.versions {
				tc.versions[i].Revision = uint64(i + 1)
			}
			NewWithT(t).Expect(falseAvailable(tc.versions)).To(Equal(tc.early))
		})
	}
}
