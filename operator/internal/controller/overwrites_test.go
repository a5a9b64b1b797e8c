package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	acappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

const mirror = "mirror.example.com/memcached:1.6"

// rewrite makes a policy set the image of every Deployment that the operator applies, until the function that it returns is called.
func (f *fakeCluster) rewrite(image string) (stop func()) {
	stopped := false
	f.reconciler.Client = interceptor.NewClient(f.reconciler.Client.(client.WithWatch), interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if !stopped {
				object.(*acappsv1.DeploymentApplyConfiguration).Spec.Template.Spec.Containers[0].WithImage(image)
			}
			return c.Apply(ctx, object, options...)
		},
	})
	return func() { stopped = true }
}

// applies returns how many of the writes are applies.
func applies(writes []string) (count int) {
	for _, write := range writes {
		if write == applyDeployment {
			count++
		}
	}
	return count
}

// inFakeTime runs a test in which time passes only where the test sleeps.
func inFakeTime(t *testing.T, test func(*testing.T)) {
	t.Helper()
	testScheme() // what is created once must not belong to the test's bubble
	typeConverters()
	restMapper()
	synctest.Test(t, test)
}

func TestFieldsThatAPolicyRewrites(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.start()
		stop := f.rewrite(mirror)
		f.updateDeployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = mirror })
		f.controlDeployment()
		expectWrites(t, f.reconcile(), applyDeployment, patchStatus)
		expectConditions(t, f, "Available=True/AllReplicasReady", "Progressing=False/Blocked", "Degraded=True/FieldsOverwritten")
		message := degradedOf(f.memcached().Status).Message
		for _, want := range []string{"spec.template.spec.containers[memcached].image", "an admission webhook or policy", testRecheck.String()} {
			if !strings.Contains(message, want) {
				t.Errorf("message = %q, want %q in it", message, want)
			}
		}
		if f.recheck != testRecheck {
			t.Errorf("the operator comes back after %s, want %s", f.recheck, testRecheck)
		}

		before := len(f.writes)
		for range 20 { // pods are deleted, and so on
			<-time.After(testRecheck / 10)
			if err := f.reconcileOnce(); err != nil {
				t.Error(err)
			}
		}
		if writes := f.writes[before:]; applies(writes) != 2 || len(writes) != 2 {
			t.Errorf("writes in %s: %q, want 2 applies", 2*testRecheck, writes)
		}
		expectEvents(t, f, "Warning FieldsOverwritten")

		// Another field does not have to wait.
		f.updateDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
		expectWrites(t, f.reconcile(), applyDeployment)
		if got := *f.deployment().Spec.Replicas; got != 1 {
			t.Errorf("the Deployment has %d replicas, want 1", got)
		}

		// Nor does another spec, which the policy does not know about.
		f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2)) })
		if got := applies(f.reconcile()); got != 1 || *f.deployment().Spec.Replicas != 2 {
			t.Errorf("%d applies, %d replicas, want 1 and 2", got, *f.deployment().Spec.Replicas)
		}
		f.controlDeployment()
		f.setReady(1, "True")
		f.reconcile()

		stop()
		<-time.After(testRecheck)
		if got := applies(f.reconcile()); got != 1 {
			t.Errorf("%d applies after the policy has gone, want 1", got)
		}
		<-time.After(testRecheck)
		f.controlDeployment()
		f.reconcile()
		if got := degradedOf(f.memcached().Status).Reason; got != cachev1alpha1.ReasonAsExpected {
			t.Errorf("Degraded has the reason %s, want AsExpected", got)
		}
		expectEvents(t, f, "Warning FieldsOverwritten", "Normal Recovered")
	})
}

func TestFieldsThatAnotherProgramKeepsChanging(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.start()
		scaled := func() {
			f.updateDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) })
			f.controlDeployment()
		}
		before := len(f.writes)
		for range 5 {
			scaled()
			f.reconcile()
		}
		if got := applies(f.writes[before:]); got != 5 {
			t.Errorf("%d applies, want 5: one at once for each change", got)
		}
		expectEvents(t, f)
		for range 5 {
			scaled()
			f.reconcile()
		}
		if got := applies(f.writes[before:]); got != 5 {
			t.Errorf("%d applies, want no more than 5", got)
		}
		message := degradedOf(f.memcached().Status).Message
		if !strings.Contains(message, "spec.replicas") || !strings.Contains(message, `the field manager "somebody-else"`) {
			t.Errorf("message = %q, want the field and its manager", message)
		}
		for _, doubled := range []int{1, 2, 4, 8, 8} {
			<-time.After(time.Duration(doubled)*testRecheck - 1)
			scaled()
			if got := applies(f.reconcile()); got != 0 {
				t.Errorf("%d applies before %d times %s have passed, want 0", got, doubled, testRecheck)
			}
			<-time.After(1)
			if got := applies(f.reconcile()); got != 1 {
				t.Errorf("%d applies after %d times %s, want 1", got, doubled, testRecheck)
			}
		}
		expectEvents(t, f, "Warning FieldsOverwritten")

		// The other program stops, which shows only after a while.
		f.controlDeployment()
		f.reconcile()
		expectEvents(t, f, "Warning FieldsOverwritten")
		if f.recheck != testRecheck {
			t.Errorf("the operator comes back after %s, want %s", f.recheck, testRecheck)
		}
		<-time.After(testRecheck)
		expectWrites(t, f.reconcile(), patchStatus)
		expectEvents(t, f, "Warning FieldsOverwritten", "Normal Recovered")
	})
}

// While a policy rewrites one field, another program that keeps changing another one is noticed, too.
func TestFieldsThatSeveralProgramsKeepChanging(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.start()
		f.rewrite(mirror)
		f.updateDeployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = mirror })
		f.controlDeployment()
		before := len(f.writes)
		for range 20 {
			f.updateDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) })
			f.controlDeployment()
			f.reconcile()
		}
		if got := applies(f.writes[before:]); got != 5 {
			t.Errorf("%d applies, want 5", got)
		}
		message := degradedOf(f.memcached().Status).Message
		for _, want := range []string{"spec.replicas, spec.template.spec.containers[memcached].image", aPolicy, `the field manager "somebody-else"`} {
			if !strings.Contains(message, want) {
				t.Errorf("message = %q, want %q in it", message, want)
			}
		}
	})
}

// Two operators with different images notice each other. Both report that, and the pods are replaced less and less often.
func TestTwoOperators(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.start()
		one := f.reconciler
		f.restartOperator("registry.example.com/memcached:2")
		both := []*MemcachedReconciler{one, f.reconciler}
		due := []time.Time{time.Now(), time.Now()}
		const hour = time.Hour
		rollouts, statuses := map[time.Duration]int{}, map[time.Duration]int{}
		start, half := time.Now(), hour/2
		for passed := time.Duration(0); passed < hour; passed = time.Since(start) {
			for i, operator := range both {
				if due[i].After(time.Now()) {
					continue
				}
				f.reconciler = operator
				before := len(f.writes)
				if err := f.reconcileOnce(); err != nil {
					t.Fatal(err)
				}
				due[i] = time.Now().Add(f.recheck)
				if f.recheck == 0 {
					due[i] = time.Now().Add(hour)
				}
				for _, write := range f.writes[before:] {
					due[1-i] = time.Now() // by a watch
					if write != applyDeployment {
						statuses[passed/half]++
						continue
					}
					rollouts[passed/half]++
					f.controlDeployment()
					f.setReady(0, "True")
				}
			}
			if len(f.writes) > 1000 {
				t.Fatalf("after %s, there are %d rollouts and %d writes of the status", passed, rollouts, statuses)
			}
			next := due[0]
			if due[1].Before(next) {
				next = due[1]
			}
			<-time.After(max(0, time.Until(next)))
		}
		t.Logf("in each half hour: rollouts %v, statuses %v", rollouts, statuses)
		// Each of them rolls out once in the longest pause. The status has the names of the pods before and after that.
		if longest := testRecheck << maxDoublings; rollouts[1] > 2*int(half/longest)+2 || statuses[1] > 2*rollouts[1] {
			t.Errorf("in the second half hour, there are %d rollouts and %d writes of the status", rollouts[1], statuses[1])
		}
		if degraded := degradedOf(f.memcached().Status); degraded.Reason != cachev1alpha1.ReasonFieldsOverwritten || !strings.Contains(degraded.Message, "a second operator") {
			t.Errorf("Degraded is %s %q", degraded.Reason, degraded.Message)
		}
	})
}

// Changes now and then, of different fields, or by a new spec are not a fight.
func TestOrdinaryRepairs(t *testing.T) {
	inFakeTime(t, func(t *testing.T) {
		f := newFakeCluster(t, 1)
		f.start()
		for i := range 20 {
			f.updateDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
			expectWrites(t, f.reconcile(), applyDeployment)
			<-time.After(testRecheck + 1)
			f.updateDeployment(func(d *appsv1.Deployment) { d.Labels["app.kubernetes.io/name"] = fmt.Sprint(i) })
			expectWrites(t, f.reconcile(), applyDeployment)
		}
		for i := range 20 {
			f.setSpec(func(spec *cachev1alpha1.MemcachedSpec) { spec.Size = new(int32(2 + i%2)) })
			if got := applies(f.reconcile()); got != 1 {
				t.Errorf("%d applies for another size, want 1", got)
			}
		}
		// Attempts that are refused change nothing.
		f.refuse(applyDeployment, errPermission)
		f.updateDeployment(func(d *appsv1.Deployment) { d.Labels["app.kubernetes.io/name"] = "refused" })
		for range 20 {
			if err := f.reconcileOnce(); err == nil {
				t.Error("no error, want the refusal")
			}
		}
		expectEvents(t, f, "Warning Forbidden")
	})
}
