package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/internal/rollout"
	"github.com/example/operator-testbed/e2e/tier"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// usersCluster is a cluster that the testbed is led to by a kubeconfig, and the suite that is to run on it.
type usersCluster struct {
	bed
	kubeconfig string
	context    string
	config     *rest.Config
	client     client.WithWatch
	manifests  manifest.Set // of the operator
}

// newUsersCluster returns an embedded cluster, for use as an existing one.
func newUsersCluster(t *testing.T) usersCluster {
	t.Helper()
	b := newBed(t)
	b.output("testbed", "up")
	g := NewWithT(t)
	u := usersCluster{bed: b, kubeconfig: filepath.Join(b.state, "clusters", "testbed", "kubeconfig")}
	raw, err := clientcmd.LoadFromFile(u.kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	u.context = raw.CurrentContext
	u.config, err = clientcmd.BuildConfigFromFlags("", u.kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	u.config.QPS = -1
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(cachev1alpha1.AddToScheme(scheme)).To(Succeed())
	u.client, err = client.NewWithWatch(u.config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	u.manifests, err = manifest.Render(filepath.Join(b.root, "operator", "config", "default"))
	g.Expect(err).NotTo(HaveOccurred())
	return u
}

// run runs features of a suite's test binary on the cluster, and returns what it prints and its exit code.
func (u usersCluster) run(t *testing.T, suite, features string) (output string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), suite, "-test.v", "-test.run=^("+features+")$")
	command.Dir = filepath.Join(u.root, "e2e", "memcached")
	command.Env = append(os.Environ(), "CLUSTER=existing", "KUBECONFIG="+u.kubeconfig, "TESTBED_ARTIFACTS="+t.TempDir(), "TESTBED_FAILURES="+os.DevNull)
	out, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// contents are the objects of a cluster, by kind, namespace and name.
type contents map[string]metav1.PartialObjectMetadata

// contents lists all objects of the cluster, except for those that come and go while nobody uses it.
func (u usersCluster) contents(t *testing.T) contents {
	t.Helper()
	g := NewWithT(t)
	found := contents{}
	kinds, err := discovery.NewDiscoveryClientForConfigOrDie(u.config).ServerPreferredResources()
	g.Expect(err).NotTo(HaveOccurred())
	objects := metadata.NewForConfigOrDie(u.config)
	for _, list := range kinds {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		g.Expect(err).NotTo(HaveOccurred())
		for _, kind := range list.APIResources {
			if !strings.Contains(kind.Verbs.String(), "list") || kind.Name == "events" || kind.Name == "componentstatuses" {
				continue
			}
			all, err := objects.Resource(group.WithResource(kind.Name)).List(t.Context(), metav1.ListOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			for _, object := range all.Items {
				found[strings.TrimSpace(kind.Kind+"."+group.Group+" "+object.Namespace+"/"+object.Name)] = object
			}
		}
	}
	return found
}

// quiet returns the contents of the cluster when its controllers have nothing left to do.
func (u usersCluster) quiet(t *testing.T) contents {
	t.Helper()
	for before := u.contents(t); ; {
		now := u.contents(t)
		if len(before.added(now)) == 0 && len(now.added(before)) == 0 && len(before.changed(now)) == 0 {
			return now
		}
		before = now
	}
}

// changed are the objects that were there before and are not the same now. Kubernetes' own components update nodes, leases and what is in
// their namespaces all the time, and the roles of users when there are new roles to aggregate: these have to be there.
func (before contents) changed(now contents) []string {
	updated := regexp.MustCompile(`^Node\.| kube-|^ClusterRole\.rbac\.authorization\.k8s\.io /(admin|edit|view)$`)
	var keys []string
	for key, was := range before {
		if is, found := now[key]; !found || is.UID != was.UID || is.ResourceVersion != was.ResourceVersion && !updated.MatchString(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// added are the objects that were not there before.
func (before contents) added(now contents) []string {
	var keys []string
	for key := range now {
		if _, found := before[key]; !found {
			keys = append(keys, key)
		}
	}
	return keys
}

// create creates objects.
func (u usersCluster) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := u.client.Create(t.Context(), object); err != nil {
			t.Fatalf("creating %T %s: %v", object, client.ObjectKeyFromObject(object), err)
		}
	}
}

// TestSuiteOnAnExistingCluster runs the operator's suite on a cluster that the testbed did not create. Whatever was there stays.
func TestSuiteOnAnExistingCluster(t *testing.T) {
	tier.All(t)
	t.Parallel()
	u := newUsersCluster(t)
	g := NewWithT(t)
	suite, err := runner.BuildSuite(t.Context(), u.root, "e2e/memcached")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(install.CRDs(t.Context(), u.config, u.manifests)).To(Succeed())
	namespace := func(name string) client.Object { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	precious := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "precious"}}
	labels := map[string]string{"app": "precious"}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "operator-system", Name: "of-a-neighbor"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("a-neighbor"), LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: time.Now()},
	}}
	u.create(t, namespace("team"), namespace("operator-system"), precious, lease, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "precious"},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "precious", Image: "precious"}}},
		}},
	})

	u.confirmsOnlyWithoutOthers(t, precious)
	refused := func(reason string) {
		t.Helper()
		before := u.quiet(t)
		output, code := u.run(t, suite, "TestDeleteDefinition|TestDelete")
		g.Expect(output).To(ContainSubstring("refusing to test on context " + u.context + ": " + reason))
		g.Expect(output).NotTo(ContainSubstring("=== RUN"))
		g.Expect(code).NotTo(BeZero())
		now := u.contents(t)
		g.Expect(before.changed(now)).To(BeEmpty())
		g.Expect(before.added(now)).To(BeEmpty())
	}
	refused("it has 1 Memcached in 1 namespace; use a cluster without any")
	g.Expect(u.client.Delete(t.Context(), precious)).To(Succeed())
	g.Expect(install.Apply(t.Context(), u.client, u.manifests.Without("Namespace", "CustomResourceDefinition", "Service", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"))).To(Succeed())
	_, err = rollout.Available(t.Context(), u.config, client.ObjectKeyFromObject(u.manifests.Select("Deployment")[0]))
	g.Expect(err).NotTo(HaveOccurred())
	refused("an operator serves Memcacheds there (Deployment operator-system/operator-controller-manager); use a cluster without one")
	g.Expect(install.Remove(t.Context(), u.config, u.manifests.Select("Deployment"))).To(Succeed())
	refused("the suite would change ")
	g.Expect(install.Remove(t.Context(), u.config, u.manifests.Without("Deployment", "Namespace", "CustomResourceDefinition"))).To(Succeed())

	before := u.quiet(t)
	output, code := u.run(t, suite, "TestDeleteDefinition|TestDelete|TestDeleteWithoutOperator|TestMissingPermissions|TestLaxDefinition")
	g.Expect(code).To(BeZero(), output)
	for _, feature := range []string{"SKIP: TestDeleteDefinition", "SKIP: TestLaxDefinition", "PASS: TestDelete", "PASS: TestDeleteWithoutOperator", "PASS: TestMissingPermissions"} {
		g.Expect(output).To(ContainSubstring("--- " + feature + " "))
	}
	g.Expect(output).To(ContainSubstring("this changes what all users of the cluster share, and the testbed did not create this cluster"))
	now := u.contents(t)
	g.Expect(before.changed(now)).To(BeEmpty())
	g.Expect(before.added(now)).To(BeEmpty())

	// A feature that lacks the label is stopped, too.
	output, code = u.run(t, unlabeled(t, u.root), "TestDeleteDefinition")
	g.Expect(code).NotTo(BeZero())
	g.Expect(output).To(ContainSubstring("this run did not create customresourcedefinitions.apiextensions.k8s.io memcacheds.cache.example.com: " +
		"if a feature has to delete it, give the feature the label disruptive=cluster"))
	now = u.contents(t)
	g.Expect(before.changed(now)).To(BeEmpty())
	g.Expect(before.added(now)).To(BeEmpty())
}

// confirmsOnlyWithoutOthers has somebody asked, or not, whether to run the suites on a cluster with the Memcached and with what serves
// it in ways other than the suite's own manifests, one after another.
func (u usersCluster) confirmsOnlyWithoutOthers(t *testing.T, mc *cachev1alpha1.Memcached) {
	t.Helper()
	g := NewWithT(t)
	said := func() string {
		command := u.command("testbed", "confirm", "--before=e2e", "--operator=operator")
		command.Env = append(command.Env, "KUBECONFIG="+u.kubeconfig)
		out, err := command.CombinedOutput()
		g.Expect(err).To(HaveOccurred())
		_, last, _ := strings.Cut(string(out), "\n")
		return last
	}
	const asked = "testbed: there is no terminal on which to confirm that cluster: add YES=1 to make's command line to agree\n"
	refusal := "testbed: refusing to test on context " + u.context + ": "
	g.Expect(said()).To(Equal(refusal + "it has 1 Memcached in 1 namespace; use a cluster without any\n"))
	u.delete(t, mc)
	g.Expect(said()).To(Equal(asked))

	at := metav1.ObjectMeta{Namespace: "team", Name: "release"}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: at.Name, Namespace: at.Namespace}}
	role := &rbacv1.Role{ObjectMeta: at, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{cachev1alpha1.GroupVersion.Group}, Resources: []string{"memcacheds/status"}, Verbs: []string{"get", "patch"},
	}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: at, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: at.Name}, Subjects: subjects}
	labels := map[string]string{"app": "release"}
	operator := &appsv1.StatefulSet{ObjectMeta: at, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			ServiceAccountName: at.Name, Containers: []corev1.Container{{Name: "manager", Image: "manager"}},
		}},
	}}
	u.create(t, &corev1.ServiceAccount{ObjectMeta: at}, operator,
		// An administrator is not an operator of Memcacheds.
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "release"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}, Subjects: subjects})
	g.Expect(said()).To(Equal(asked))
	u.create(t, role, binding)
	g.Expect(said()).To(Equal(refusal + "an operator serves Memcacheds there (StatefulSet team/release); use a cluster without one\n"))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "memcached-operator.cache.example.com"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("pod_1")}}
	u.create(t, lease)
	g.Expect(said()).To(Equal(refusal + "an operator serves Memcacheds there (StatefulSet team/release and 1 more); use a cluster without one\n"))
	u.delete(t, role)
	g.Expect(said()).To(Equal(refusal + "an operator serves Memcacheds there (Lease team/memcached-operator.cache.example.com, held by pod_1); use a cluster without one\n"))
	lease.Spec.HolderIdentity = new("")
	g.Expect(u.client.Update(t.Context(), lease)).To(Succeed())
	g.Expect(said()).To(Equal(asked))
	u.delete(t, operator, lease)

	crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	g.Expect(u.client.Get(t.Context(), client.ObjectKey{Name: "memcacheds.cache.example.com"}, crd)).To(Succeed())
	rename := func(shortName string) {
		g.Expect(u.client.Patch(t.Context(), crd, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"names":{"shortNames":["`+shortName+`"]}}}`)))).To(Succeed())
	}
	rename("cache")
	g.Expect(said()).To(Equal(refusal + "its CustomResourceDefinition memcacheds.cache.example.com is not the one under test; " +
		"remove it with make uninstall CLUSTER=existing, or use another cluster\n"))
	g.Expect(install.CRDs(t.Context(), u.config, u.manifests)).To(Succeed())
	g.Expect(said()).To(Equal(asked))
	mc.ResourceVersion = ""
	u.create(t, mc)
}

// delete deletes objects.
func (u usersCluster) delete(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := u.client.Delete(t.Context(), object); err != nil {
			t.Fatalf("deleting %T %s: %v", object, client.ObjectKeyFromObject(object), err)
		}
	}
}

// unlabeled builds the operator's suite with TestDeleteDefinition as it would be without its label.
func unlabeled(t *testing.T, root string) string {
	t.Helper()
	g := NewWithT(t)
	work := t.TempDir()
	file := filepath.Join(root, "e2e", "memcached", "delete_test.go")
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	const label = "\n\t\tWithLabel(\"disruptive\", \"cluster\")."
	g.Expect(strings.Count(string(content), label)).To(Equal(1))
	changed, overlay := filepath.Join(work, "delete_test.go"), filepath.Join(work, "overlay.json")
	g.Expect(os.WriteFile(changed, []byte(strings.Replace(string(content), label, "", 1)), 0o600)).To(Succeed())
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(overlay, replaced, 0o600)).To(Succeed())
	suite := filepath.Join(work, "suite.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-overlay="+overlay, "-o", suite, "./e2e/memcached")
	build.Dir = root
	out, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	return suite
}

// TestMakeShowsWhatWouldBeLost types targets that change or delete a CustomResourceDefinition, on a cluster of the testbed and on the same
// one as an existing one.
func TestMakeShowsWhatWouldBeLost(t *testing.T) {
	tier.All(t)
	t.Parallel()
	u := newUsersCluster(t)
	g := NewWithT(t)
	const definition = "memcacheds.cache.example.com"
	// run types a command, and returns what it prints and whether it succeeds.
	run := func(env []string, arguments ...string) (said string, done bool) {
		command := u.command("make", append([]string{"--silent"}, arguments...)...)
		command.Env = append(command.Env, env...)
		out, err := command.CombinedOutput()
		return string(out), err == nil
	}
	remain := func(want int) {
		t.Helper()
		list := &cachev1alpha1.MemcachedList{}
		g.Expect(u.client.List(t.Context(), list)).To(Succeed())
		g.Expect(list.Items).To(HaveLen(want))
	}
	said, done := run(nil, "install")
	g.Expect(done).To(BeTrue(), said)
	u.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})
	for _, mc := range []struct{ namespace, name, protected string }{
		{"default", "a", "true"}, {"team", "b", "true"}, {"team", "c", "false"}, {"team", "d", ""},
	} {
		object := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: mc.namespace, Name: mc.name}}
		if mc.protected != "" {
			object.Annotations = map[string]string{cachev1alpha1.AnnotationDeletionProtection: mc.protected}
		}
		u.create(t, object)
	}

	existing := []string{"KUBECONFIG=" + u.kubeconfig}
	for _, target := range []string{"install", "run", "deploy"} {
		said, done = run(existing, target, "CLUSTER=existing")
		g.Expect(done).To(BeFalse(), "there is no terminal on which anybody could agree")
		g.Expect(said).To(ContainSubstring("make " + target + " replaces the CustomResourceDefinition of 4 Memcacheds in 2 namespaces.\n"))
	}
	for _, target := range []string{"uninstall", "undeploy"} {
		said, done = run(existing, target, "CLUSTER=existing", "FORCE=1")
		g.Expect(done).To(BeFalse(), "there is no terminal on which anybody could agree")
		g.Expect(said).To(ContainSubstring("make " + target + " deletes the CustomResourceDefinition " + definition + ", and with it 4 Memcacheds in 2 namespaces.\n"))

		refusal := "make " + target + " deletes the CustomResourceDefinition " + definition +
			", and with it objects that cache.example.com/deletion-protection protects (2: default/a, team/b): remove the annotation from them, or add FORCE=1\n"
		for _, arguments := range [][]string{{target}, {target, "STAGE=08-deployment"}, {target, "STAGE=12-certificates"}} {
			said, done = run([]string{"FORCE=1"}, arguments...) // only make's command line counts
			g.Expect(done).To(BeFalse(), said)
			g.Expect(said).To(MatchRegexp(`(?m)^`+regexp.QuoteMeta(refusal)), strings.Join(arguments, " ")) // after controller-gen's progress in a new clone
			said, done = run(existing, append(arguments, "CLUSTER=existing", "YES=1")...)
			g.Expect(done).To(BeFalse(), said)
			g.Expect(said).To(ContainSubstring("\ntestbed: "+refusal), strings.Join(arguments, " "))
		}
	}
	remain(4)

	// That of tickets is another one. It is not there, which is fine.
	said, done = run(nil, "uninstall", "STAGE=informer-queue")
	g.Expect(done).To(BeTrue(), said)
	remain(4)

	said, done = run(existing, "uninstall", "CLUSTER=existing", "YES=1", "FORCE=1")
	g.Expect(done).To(BeTrue(), said)
	g.Expect(u.client.Get(t.Context(), client.ObjectKey{Name: definition}, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition",
	}})).To(MatchError(apierrors.IsNotFound, "IsNotFound"))

	// Where nothing is left to protect, nobody is kept from anything.
	said, done = run(nil, "install")
	g.Expect(done).To(BeTrue(), said)
	said, done = run(nil, "uninstall", "STAGE=04-status")
	g.Expect(done).To(BeTrue(), said)
}

// TestConfirmNamesWhatElseIsThere asks before targets that would delete a namespace with others' objects, or run an operator beside
// another one, and before those that wouldn't.
func TestConfirmNamesWhatElseIsThere(t *testing.T) {
	tier.All(t)
	t.Parallel()
	u := newUsersCluster(t)
	g := NewWithT(t)
	said := func(arguments ...string) string {
		t.Helper()
		command := u.command("testbed", arguments...)
		command.Env = append(command.Env, "KUBECONFIG="+u.kubeconfig)
		out, err := command.CombinedOutput()
		g.Expect(err).To(HaveOccurred(), "there is no terminal on which anybody could agree")
		_, last, _ := strings.Cut(string(out), "\n")
		return last
	}
	undeploy := []string{"confirm", "--before=undeploy", "--operator=operator"}
	run := []string{"run", "--operator=operator", "--existing"}
	const unanswered = "testbed: there is no terminal on which to confirm that cluster: add YES=1 to make's command line to agree\n"
	const stays = "After Ctrl-C, what make run has installed stays (Namespace, CustomResourceDefinition, ServiceAccount, Role, ClusterRole, RoleBinding, ClusterRoleBinding, Service, PodDisruptionBudget): make undeploy CLUSTER=existing removes it.\n"
	const deletes = "make undeploy deletes the CustomResourceDefinition memcacheds.cache.example.com, and with it 0 Memcacheds.\n"

	g.Expect(said(run...)).To(Equal(stays + unanswered))

	// All that the manifests have, and what Kubernetes and the operator add to it.
	g.Expect(install.CRDs(t.Context(), u.config, u.manifests)).To(Succeed())
	u.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "operator-system"}})
	g.Expect(install.Apply(t.Context(), u.client, u.manifests.Without("Namespace", "CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"))).To(Succeed())
	deployment := client.ObjectKeyFromObject(u.manifests.Select("Deployment")[0])
	_, err := rollout.Available(t.Context(), u.config, deployment)
	g.Expect(err).NotTo(HaveOccurred())
	at := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "operator-system", Name: name}
	}
	mc := &cachev1alpha1.Memcached{ObjectMeta: at("one")}
	u.create(t, &corev1.Secret{ObjectMeta: at("operator-webhook-ca")}, &coordinationv1.Lease{ObjectMeta: at("memcached-operator.cache.example.com")}, mc)
	u.quiet(t)
	g.Expect(said(undeploy...)).To(Equal(strings.Replace(deletes, "0 Memcacheds", "1 Memcached in 1 namespace", 1) + unanswered))
	g.Expect(said(run...)).To(Equal("make run replaces the CustomResourceDefinition of 1 Memcached in 1 namespace.\n" +
		"An operator serves Memcacheds there already (Deployment " + deployment.String() + "): make run starts another one beside it.\n" + stays + unanswered))
	u.delete(t, mc)

	u.create(t, &corev1.ConfigMap{ObjectMeta: at("settings")}, &corev1.Secret{ObjectMeta: at("password")})
	const others = "make undeploy deletes the namespace operator-system, and with it objects that are not the operator's (2: ConfigMap settings, Secret password)"
	g.Expect(said(undeploy...)).To(Equal("testbed: " + others + ": move them to another namespace, or add FORCE=1\n"))
	g.Expect(said(append(undeploy, "--force")...)).To(Equal(deletes + others + ".\n" + unanswered))
	g.Expect(said("confirm", "--before=uninstall", "--operator=operator")).To(Equal(strings.Replace(deletes, "undeploy", "uninstall", 1) + unanswered))
}
