package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

const (
	team = "team"
	// period is how often the leader renews its lease, and how long the operator waits before it checks a name that is taken.
	period = time.Second
	// lease is how long the lease is valid, longer than anything here is waited for: if the leader does not release it, nobody else
	// leads in time.
	lease = 20 * time.Minute
	// validity is how long a certificate is valid here.
	validity = 2 * time.Hour
)

// TestInstalled installs the operator's manifests step by step, and runs two replicas of the operator as processes that have the
// permissions of its ServiceAccount.
func TestInstalled(t *testing.T) {
	i := newInstallation(t)
	i.install(asItIs, "CustomResourceDefinition", "Namespace", "ServiceAccount", "Deployment")
	i.install(toLocalhost, "Service")
	i.must(i.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}}))
	t.Run("columns", i.run(checkColumns))
	taken := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "taken"}, Spec: i.manager.Spec}
	i.must(errors.Join(i.admin.Create(t.Context(), taken), i.admin.Create(t.Context(), memcached("taken", 1))))

	// Until the test deletes the lease, nobody leads.
	held := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: i.manager.Namespace, Name: leaseName}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("nobody"), LeaseDurationSeconds: new(int32(3600)), RenewTime: new(metav1.NowMicro()), AcquireTime: new(metav1.NowMicro()),
	}}
	i.must(i.admin.Create(t.Context(), held))
	kubeconfig := i.kubeconfig()
	arguments := []string{
		"--zap-encoder=console", "--zap-stacktrace-level=panic", "--max-concurrent-reconciles=3", "--max-total-size-per-namespace=5",
		"--webhook-certificate-duration=" + validity.String(), "--leader-election-lease-duration=" + lease.String(),
		"--leader-election-renew-deadline=19m", "--leader-election-retry-period=" + period.String(), "--recheck-interval=" + period.String(),
	}
	first := i.start("first", kubeconfig, arguments...)
	i.eventually("the first replica is alive", func(ctx context.Context) error { return first.probe(ctx, "/healthz") })
	// It has no permission to read anything, so its caches can't be filled.
	for _, path := range []string{"/readyz/caches", "/readyz/webhooks"} {
		if first.probe(t.Context(), path) == nil {
			t.Errorf("%s succeeds without permissions", path)
		}
	}
	i.install(asItIs, "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
	t.Run("people", i.run(checkPeople))
	i.eventually("the caches are filled", func(ctx context.Context) error { return first.probe(ctx, "/readyz/caches") })
	i.eventually("the first replica has a certificate", func(context.Context) error { return handshake(first) })
	// The API server does not call the replica's webhooks yet.
	for _, path := range []string{"/readyz", "/readyz/webhooks"} {
		if first.probe(t.Context(), path) == nil {
			t.Errorf("%s succeeds without webhook configurations", path)
		}
	}
	_, port, err := net.SplitHostPort(first.webhook)
	i.must(err)
	number, err := strconv.ParseInt(port, 10, 64)
	i.must(err)
	i.install(atPort(number), "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
	i.eventually("the first replica is ready", func(ctx context.Context) error { return first.probe(ctx, "/readyz") })

	i.must(i.admin.Delete(t.Context(), held))
	i.eventually("the first replica leads", func(ctx context.Context) error { return i.admin.Get(ctx, client.ObjectKeyFromObject(held), held) })
	second := i.start("second", kubeconfig, arguments...)
	t.Run("admission", i.run(checkAdmission))
	i.eventually("the second replica is ready", func(ctx context.Context) error { return second.probe(ctx, "/readyz") })
	t.Run("webhooks of both", func(t *testing.T) {
		for _, p := range []*process{first, second} {
			checkWebhookServer(t, p)
		}
	})
	t.Run("metrics of both", func(t *testing.T) { checkMetrics(t, first, second) })
	t.Run("logs", i.run(func(i *installation) { checkLog(i, first) }))
	t.Run("one leads", func(t *testing.T) { checkLeader(t, first, second) })
	// The webhook configurations point to the first replica, which has exited.
	t.Run("nobody answers", i.run(checkUnanswered))
}

// run returns a subtest that calls check.
func (i *installation) run(check func(*installation)) func(*testing.T) {
	return func(t *testing.T) {
		sub := *i
		sub.T = t
		check(&sub)
	}
}

// checkColumns requests a Table of Memcacheds, and the scale of one, as kubectl does.
func checkColumns(i *installation) {
	mc := memcached("columns", 3)
	i.eventually("the API server knows Memcacheds", func(ctx context.Context) error { return i.admin.Create(ctx, mc) })
	condition := func(conditionType string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason, LastTransitionTime: metav1.Now()}
	}
	mc.Status = cachev1alpha1.MemcachedStatus{
		Replicas: 4, ReadyReplicas: 2, Selector: "a=b", Nodes: []string{"a", "b"},
		Conditions: []metav1.Condition{
			condition(cachev1alpha1.ConditionAvailable, metav1.ConditionFalse, "A"),
			condition(cachev1alpha1.ConditionProgressing, metav1.ConditionUnknown, "P"),
			condition(cachev1alpha1.ConditionDegraded, metav1.ConditionTrue, "D"),
		},
	}
	i.must(i.admin.Status().Update(i.Context(), mc))

	c, err := rest.HTTPClientFor(i.config)
	i.must(err)
	request, err := http.NewRequestWithContext(i.Context(), http.MethodGet, strings.TrimSuffix(i.config.Host, "/")+"/apis/cache.example.com/v1alpha1/namespaces/team/memcacheds", http.NoBody)
	i.must(err)
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := c.Do(request)
	i.must(err)
	defer response.Body.Close()
	table := &metav1.Table{}
	i.must(json.NewDecoder(response.Body).Decode(table))
	if len(table.Rows) != 1 {
		i.Fatalf("the table has %d rows, want one", len(table.Rows))
	}
	var got []string
	for n, column := range table.ColumnDefinitions {
		cell := fmt.Sprint(table.Rows[0].Cells[n])
		if age, err := time.ParseDuration(cell); column.Name == "Age" && err == nil && age < time.Hour {
			cell = "recent"
		}
		got = append(got, fmt.Sprintf("%d %s %s %s", column.Priority, column.Name, column.Type, cell))
	}
	// kubectl shows columns of priority 1 with --output=wide only.
	want := []string{
		"0 Name string columns", "0 Size integer 3", "0 Ready integer 2", "0 Available string False", "0 Progressing string Unknown",
		"0 Degraded string True", "1 Port integer 11211", "1 Reason string D", "0 Age date recent",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		i.Errorf("columns (-want +got):\n%s", diff)
	}

	discoverer, err := discovery.NewDiscoveryClientForConfig(i.config)
	i.must(err)
	resources, err := discoverer.ServerResourcesForGroupVersion(cachev1alpha1.GroupVersion.String())
	i.must(err)
	for _, resource := range resources.APIResources {
		if resource.Name == "memcacheds" && (!slices.Equal(resource.ShortNames, []string{"mc"}) || !slices.Equal(resource.Categories, []string{"all"})) {
			i.Errorf("kubectl knows Memcacheds as %q and %q, want mc and all", resource.ShortNames, resource.Categories)
		}
	}

	scale := &autoscalingv1.Scale{}
	i.must(i.admin.SubResource("scale").Get(i.Context(), mc, scale))
	if scale.Spec.Replicas != 3 || scale.Status.Replicas != 4 || scale.Status.Selector != "a=b" {
		i.Errorf("the scale is %d, %d, %q; want 3, 4 and a=b", scale.Spec.Replicas, scale.Status.Replicas, scale.Status.Selector)
	}
	i.must(i.admin.Delete(i.Context(), mc))
}

// checkPeople sends the requests of kubectl's commands as a viewer, an editor and an admin.
func checkPeople(i *installation) {
	mc := memcached("people", 1)
	i.must(i.admin.Create(i.Context(), mc))
	commands := []struct {
		command string
		roles   string
		do      func(context.Context, client.WithWatch) error
	}{
		{"get memcached NAME", "viewer editor admin", func(ctx context.Context, c client.WithWatch) error {
			return c.Get(ctx, client.ObjectKeyFromObject(mc), memcached("", 1))
		}},
		{"get memcacheds", "viewer editor admin", func(ctx context.Context, c client.WithWatch) error {
			return c.List(ctx, &cachev1alpha1.MemcachedList{}, client.InNamespace(team))
		}},
		{"get memcacheds --watch", "viewer editor admin", func(ctx context.Context, c client.WithWatch) error {
			watching, err := c.Watch(ctx, &cachev1alpha1.MemcachedList{}, client.InNamespace(team))
			if err == nil {
				watching.Stop()
			}
			return err
		}},
		{"get memcached NAME --subresource=scale", "viewer editor admin", func(ctx context.Context, c client.WithWatch) error {
			return c.SubResource("scale").Get(ctx, mc, &autoscalingv1.Scale{})
		}},
		{"get memcached NAME --subresource=status", "viewer editor admin", func(ctx context.Context, c client.WithWatch) error {
			return c.SubResource("status").Get(ctx, mc, memcached("", 1))
		}},
		{"create", "editor admin", func(ctx context.Context, c client.WithWatch) error {
			return c.Create(ctx, memcached("another", 1), client.DryRunAll)
		}},
		{"replace", "editor admin", func(ctx context.Context, c client.WithWatch) error {
			live := memcached("", 1)
			if err := i.admin.Get(ctx, client.ObjectKeyFromObject(mc), live); err != nil {
				return err
			}
			return c.Update(ctx, live, client.DryRunAll)
		}},
		{"edit", "editor admin", func(ctx context.Context, c client.WithWatch) error {
			return c.Patch(ctx, mc.DeepCopy(), merge(`{"spec":{"size":2}}`), client.DryRunAll)
		}},
		{"scale", "editor admin", func(ctx context.Context, c client.WithWatch) error {
			return c.SubResource("scale").Patch(ctx, mc.DeepCopy(), merge(`{"spec":{"replicas":2}}`), client.DryRunAll)
		}},
		{"delete memcached NAME", "editor admin", func(ctx context.Context, c client.WithWatch) error {
			return c.Delete(ctx, mc.DeepCopy(), client.DryRunAll)
		}},
		{"delete memcacheds --all", "admin", func(ctx context.Context, c client.WithWatch) error {
			return c.DeleteAllOf(ctx, memcached("", 1), client.InNamespace(team), client.DryRunAll)
		}},
		{"edit --subresource=status", "", func(ctx context.Context, c client.WithWatch) error {
			return c.Status().Patch(ctx, mc.DeepCopy(), merge(`{"status":{"replicas":2}}`), client.DryRunAll)
		}},
	}
	roles := []string{"viewer", "editor", "admin"}
	for _, role := range roles {
		i.bind("operator-memcached-"+role+"-role", rbacv1.UserKind, "", role)
	}
	for _, role := range roles {
		user := i.clientOf(role)
		i.eventually("the API server knows the "+role, func(ctx context.Context) error { return commands[0].do(ctx, user) })
		for _, command := range commands {
			err := command.do(i.Context(), user)
			may := slices.Contains(strings.Fields(command.roles), role)
			if may && err != nil || !may && !apierrors.IsForbidden(err) {
				i.Errorf("%s: kubectl %s: %v, want it to be allowed: %t", role, command.command, err, may)
			}
		}
	}
	i.must(i.admin.Delete(i.Context(), mc))
}

// checkAdmission sends requests to each webhook as an administrator, as a user with a role and as a ServiceAccount.
func checkAdmission(i *installation) {
	i.eventually("the API server calls the webhooks", func(ctx context.Context) error {
		created := memcached("trial", 1)
		if err := i.admin.Create(ctx, created, client.DryRunAll); err != nil {
			return err
		}
		if created.Annotations == nil || !apierrors.IsInvalid(i.admin.Create(ctx, protectedBy("perhaps"), client.DryRunAll)) {
			return errors.New("a request passes without a call of the webhooks")
		}
		return nil
	})
	account := "system:serviceaccount:" + team + ":pipeline"
	i.bind("operator-memcached-admin-role", rbacv1.ServiceAccountKind, team, "pipeline")
	for name, groups := range map[string][]string{"root": {"system:masters"}, "admin": nil, account: {"system:serviceaccounts", "system:authenticated"}} {
		warned := &warnings{}
		config := rest.CopyConfig(i.config)
		config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
		config.WarningHandlerWithContext = warned
		user, err := client.New(config, client.Options{Scheme: i.admin.Scheme()})
		i.must(err)
		ctx := i.Context()

		mc := memcached("admitted", 2)
		mc.Annotations = map[string]string{cachev1alpha1.AnnotationRequestedBy: "somebody-else", cachev1alpha1.AnnotationDeletionProtection: "true"}
		i.eventually("the API server knows "+name, func(ctx context.Context) error { return client.IgnoreAlreadyExists(user.Create(ctx, mc)) })
		if got := mc.Annotations[cachev1alpha1.AnnotationRequestedBy]; got != name {
			i.Errorf("%s: the creator is %q", name, got)
		}
		i.must(user.Patch(ctx, mc, merge(`{"metadata":{"annotations":{"cache.example.com/requested-by":"me"}}}`)))
		if got := mc.Annotations[cachev1alpha1.AnnotationRequestedBy]; got != name {
			i.Errorf("%s: the creator becomes %q by a change", name, got)
		}
		tooLarge := memcached("too-large", 4)
		refused := map[string]error{
			"the deletion of what is protected":       user.Delete(ctx, mc),
			"the deletion of all":                     user.DeleteAllOf(ctx, memcached("", 1), client.InNamespace(team)),
			"an invalid protection":                   user.Patch(ctx, mc.DeepCopy(), merge(`{"metadata":{"annotations":{"cache.example.com/deletion-protection":"yes"}}}`)),
			"a creation above the limit":              user.Create(ctx, tooLarge),
			"a scale above the limit":                 user.SubResource("scale").Patch(ctx, mc.DeepCopy(), merge(`{"spec":{"replicas":5}}`)),
			"the creation with an invalid protection": user.Create(ctx, protectedBy("perhaps")),
		}
		for what, err := range refused {
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "admission webhook") {
				i.Errorf("%s: %s: %v, want a refusal by a webhook", name, what, err)
			}
		}
		if texts := warned.take(); len(texts) > 0 {
			i.Errorf("%s: warnings %q before the port changes", name, texts)
		}
		i.must(user.Patch(ctx, mc, merge(`{"spec":{"containerPort":11311}}`)))
		if texts := warned.take(); len(texts) != 1 || !strings.Contains(texts[0], "every pod") {
			i.Errorf("%s: warnings %q of a new port", name, texts)
		}
		i.must(user.Patch(ctx, mc, merge(`{"metadata":{"annotations":{"cache.example.com/deletion-protection":null}}}`)))
		i.must(user.Delete(ctx, mc))
	}
	// The webhooks do not hold back the controllers of Kubernetes that clean up after a deletion.
	for _, cleaner := range cleaners {
		i.must(i.admin.Create(i.Context(), protectedBy("true")))
		if err := i.clientOf(cleaner, "system:masters").Delete(i.Context(), protectedBy("true")); err != nil {
			i.Errorf("%s: %v", cleaner, err)
		}
	}
}

// cleaners are the controllers of Kubernetes that delete objects because another object was deleted.
var cleaners = []string{
	"system:serviceaccount:kube-system:namespace-controller", "system:serviceaccount:kube-system:generic-garbage-collector", "system:kube-controller-manager",
}

// checkUnanswered sends requests that the webhooks validate, and requests that they do not, while no replica responds. The
// Memcached protected-N is for the N-th cleaner.
func checkUnanswered(i *installation) {
	ctx := i.Context()
	mc := memcached("measured", 1)
	for what, err := range map[string]error{
		"a creation":             i.admin.Create(ctx, memcached("unanswered", 1)),
		"a change of size":       i.admin.Patch(ctx, mc.DeepCopy(), merge(`{"spec":{"size":2}}`)),
		"a larger scale":         i.admin.SubResource("scale").Patch(ctx, mc.DeepCopy(), merge(`{"spec":{"replicas":3}}`)),
		"another creator":        i.admin.Patch(ctx, mc.DeepCopy(), merge(`{"metadata":{"annotations":{"cache.example.com/requested-by":"me"}}}`)),
		"the protected deletion": i.admin.Delete(ctx, memcached("protected-0", 1)),
	} {
		if !apierrors.IsInternalError(err) {
			i.Errorf("%s: %v, want an error for want of the webhook", what, err)
		}
	}
	i.must(i.admin.Patch(ctx, mc.DeepCopy(), merge(`{"metadata":{"labels":{"a":"b"},"finalizers":["example.com/late"]}}`)))
	i.must(i.admin.SubResource("scale").Patch(ctx, mc.DeepCopy(), merge(`{"spec":{"replicas":1}}`)))
	for n, cleaner := range cleaners {
		if err := i.clientOf(cleaner, "system:masters").Delete(ctx, memcached(fmt.Sprintf("protected-%d", n), 1)); err != nil {
			i.Errorf("%s: %v", cleaner, err)
		}
	}
}

// handshake returns an error unless a process presents a certificate at the address of its webhooks.
func handshake(p *process) error {
	connection, err := tls.Dial("tcp", p.webhook, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // any certificate will do
	if err != nil {
		return err
	}
	return connection.Close()
}

// trusting returns a client that trusts the operator's certificate authority for the name of the Service.
func (p *process) trusting(service string) *http.Client {
	i := p.installation
	secret := &corev1.Secret{}
	i.must(i.admin.Get(i.Context(), client.ObjectKey{Namespace: i.manager.Namespace, Name: "operator-webhook-ca"}, secret))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(secret.Data["ca.crt"])
	return &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: service + "." + i.manager.Namespace + ".svc"},
	}}
}

// checkConnection fails the test unless the response came by TLS 1.3 and HTTP/1.1, and the certificate is valid for as long as
// the flag sets.
func checkConnection(t *testing.T, what string, response *http.Response) {
	t.Helper()
	leaf := response.TLS.PeerCertificates[0]
	// The certificate is valid from five minutes in the past.
	if got := leaf.NotAfter.Sub(leaf.NotBefore) - 5*time.Minute; got != validity {
		t.Errorf("%s: the certificate is valid for %s, want %s", what, got, validity)
	}
	if response.TLS.Version != tls.VersionTLS13 || response.ProtoMajor != 1 {
		t.Errorf("%s: TLS %x and %s, want TLS 1.3 and HTTP/1.1", what, response.TLS.Version, response.Proto)
	}
}

// checkWebhookServer sends a review to one replica, as the API server does.
func checkWebhookServer(t *testing.T, p *process) {
	mc, err := json.Marshal(memcached("asked", 1))
	if err != nil {
		t.Fatal(err)
	}
	review, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  &admissionv1.AdmissionRequest{UID: "1", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: mc}},
	})
	if err != nil {
		t.Fatal(err)
	}
	response, err := p.trusting("operator-webhook-service").Post("https://"+p.webhook+"/mutate-cache-example-com-v1alpha1-memcached", "application/json", bytes.NewReader(review))
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	defer response.Body.Close()
	answer := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Response == nil || !answer.Response.Allowed || len(answer.Response.Patch) == 0 {
		t.Errorf("%s: it answers %+v, %v", p.name, answer.Response, err)
	}
	checkConnection(t, p.name+"'s webhooks", response)
}

// checkMetrics scrapes both replicas with and without permission.
func checkMetrics(t *testing.T, first, second *process) {
	i := first.installation
	for _, name := range []string{"reader", "outsider"} {
		i.must(i.admin.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}))
	}
	i.bind("operator-metrics-reader", rbacv1.ServiceAccountKind, team, "reader")
	i.must(i.admin.Create(t.Context(), memcached("measured", 1)))
	scrape := func(p *process, token string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+p.metrics+"/metrics", http.NoBody)
		i.must(err)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := p.trusting("operator-controller-manager-metrics-service").Do(request)
		i.must(err)
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		i.must(err)
		checkConnection(t, p.name+"'s metrics", response)
		return response.StatusCode, string(content)
	}
	token := i.token(team, "reader")
	var leaders, followers string
	i.eventually("the leader's metrics", func(context.Context) error {
		code, text := scrape(first, token)
		if leaders = text; code != http.StatusOK || !strings.Contains(text, `memcached_operator_desired_replicas{name="measured",namespace="team"} 1`) {
			return fmt.Errorf("%d %.200s", code, text)
		}
		return nil
	})
	if !strings.Contains(leaders, `controller_runtime_max_concurrent_reconciles{controller="memcached"} 3`) {
		t.Error("the number of workers is not that of the flag")
	}
	code, followers := scrape(second, token)
	if code != http.StatusOK || strings.Contains(followers, `name="measured"`) {
		t.Errorf("the replica that does not lead reports Memcacheds, too, or nothing: %d", code)
	}
	for p, text := range map[*process]string{first: leaders, second: followers} {
		if !strings.Contains(text, "memcached_operator_status_writes_total") || !strings.Contains(text, `leader_election_master_status{name="memcached-operator.cache.example.com"} `) {
			t.Errorf("%s: metrics are missing", p.name)
		}
		if code, _ := scrape(p, ""); code != http.StatusUnauthorized {
			t.Errorf("%s: an anonymous user gets %d", p.name, code)
		}
		if code, _ := scrape(p, i.token(team, "outsider")); code != http.StatusForbidden {
			t.Errorf("%s: a user without the permission gets %d", p.name, code)
		}
	}
}

// checkLog fails the test unless a replica and its libraries log in the format that the flags set. What was logged is read a moment later.
func checkLog(i *installation, p *process) {
	for _, line := range []string{"\tINFO\tStarting\t", "\tINFO\tcontroller-runtime.webhook\tServing webhook server\t", "\tINFO\tServing a new certificate\t"} {
		i.eventually(fmt.Sprintf("%q is logged", line), func(context.Context) error {
			if !strings.Contains(strings.Join(p.lines(), "\n"), line) {
				return errors.New("it is not there")
			}
			return nil
		})
	}
}

// checkLeader compares the lease and the audit log with the flags, then stops the leader.
func checkLeader(t *testing.T, first, second *process) {
	i := first.installation
	held := &coordinationv1.Lease{}
	key := types.NamespacedName{Namespace: "operator-system", Name: leaseName}
	i.must(i.admin.Get(t.Context(), key, held))
	if got := time.Duration(*held.Spec.LeaseDurationSeconds) * time.Second; got != lease {
		t.Errorf("the lease lasts %s, want %s", got, lease)
	}
	// Each period starts when the previous request was answered.
	for what, got := range map[string]time.Duration{
		"the lease is renewed":             i.period("first", "update", "leases", leaseName, 5*period),
		"a Deployment's name is looked at": i.period("first", "get", "deployments", "taken", 5*period),
	} {
		if got < period*9/10 {
			t.Errorf("%s every %s, want %s", what, got, period)
		}
	}

	worked := func(p *process) (resources []string) {
		for _, event := range i.requests(p.name) {
			if event.Verb != "get" {
				resources = append(resources, event.ObjectRef.Resource)
			}
		}
		slices.Sort(resources)
		return slices.Compact(resources)
	}
	// The operator does not wait until its events are written.
	i.eventually("the leader's writes", func(context.Context) error {
		if diff := cmp.Diff([]string{"deployments", "events", "leases", "memcacheds", "mutatingwebhookconfigurations", "secrets", "validatingwebhookconfigurations"}, worked(first)); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	if got := worked(second); len(got) > 0 {
		t.Errorf("the replica that does not lead writes %q", got)
	}
	for n := range cleaners {
		mc := protectedBy("true")
		mc.Name = fmt.Sprintf("protected-%d", n)
		i.must(i.admin.Create(t.Context(), mc))
	}
	i.must(first.command.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-first.exited:
		if err != nil {
			t.Errorf("after SIGTERM the leader exits with %v", err)
		}
	case <-time.After(10 * time.Minute):
		t.Fatal("the leader does not exit after SIGTERM")
	}
	// The lease was released, or the other replica would have to wait until it expires.
	i.eventually("the other one leads", func(context.Context) error {
		if !slices.Contains(worked(second), "leases") {
			return errors.New("it writes no lease")
		}
		return nil
	})
}

func memcached(name string, size int32) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		TypeMeta:   metav1.TypeMeta{APIVersion: cachev1alpha1.GroupVersion.String(), Kind: "Memcached"},
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name},
		Spec:       cachev1alpha1.MemcachedSpec{Size: new(size)},
	}
}

func protectedBy(value string) *cachev1alpha1.Memcached {
	mc := memcached("protected", 1)
	mc.Annotations = map[string]string{cachev1alpha1.AnnotationDeletionProtection: value}
	return mc
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

// warnings records the API server's warnings.
type warnings struct{ texts []string }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _ string, text string) {
	w.texts = append(w.texts, text)
}

func (w *warnings) take() []string {
	texts := w.texts
	w.texts = nil
	return texts
}
