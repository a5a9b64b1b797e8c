package memcached

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
	"github.com/example/operator-testbed/e2e/tier"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

const (
	// retried is the longest time between two attempts at what fails: the default of --recheck-interval.
	retried = 30 * time.Second
	// asked is how often users ask for something while the webhooks fail.
	asked = 2 * time.Minute
	// slowly is how long pods take that are too slow for the alert about that, and slowTimeout how long to wait for them.
	slowly      = 125 * time.Second
	slowTimeout = slowly + time.Minute
)

// TestAlertsFire owns the operator, of which two replicas run. Their metrics are scraped while all is well and with each fault. Prometheus'
// engine then evaluates the alerts on these scrapes, as if each fault lasted for two hours: exactly the alerts that belong to it fire.
func TestAlertsFire(t *testing.T) {
	tier.All(t)
	feature := memcached.Feature("alerts").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		Setup(needsWebhooks).
		Setup(ownOperator)
	framework.Given(feature, newScraped).
		Assess("while Memcacheds come and go", func(ctx context.Context, s *framework.Scope, i *scraped) {
			before := i.scrape(ctx, s)
			mc := create(ctx, s, s.NewName("cache"), s.Size(1, 2))
			settled(ctx, s, mc)
			resize(ctx, s, mc, s.Size(3, 5))
			settled(ctx, s, mc)
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc)
			i.healthy = i.scrape(ctx, s)
			i.record("a healthy installation", retried, before, i.healthy)
		}).
		Assess("while a Deployment is paused", func(ctx context.Context, s *framework.Scope, i *scraped) {
			mc := create(ctx, s, s.NewName("paused"), s.Size(1, 2))
			settled(ctx, s, mc)
			damage(ctx, s, mc, `{"spec":{"paused":true}}`)
			change(ctx, s, mc, func(spec *cachev1alpha1.MemcachedSpec) { spec.ContainerPort = new(s.Port()) })
			framework.WaitForConditions(ctx, s, mc, framework.Condition{
				Type: cachev1alpha1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: cachev1alpha1.ReasonDeploymentPaused,
			})
			i.record("a rollout that is paused", retried, i.healthy, i.scrape(ctx, s), i.scrape(ctx, s)).
				fires("MemcachedDegraded", mc)
			damage(ctx, s, mc, `{"spec":{"paused":null}}`)
			settled(ctx, s, mc)
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc)
		}).
		Assess("while a quota refuses a Deployment", func(ctx context.Context, s *framework.Scope, i *scraped) {
			mc := create(ctx, inNamespace(s, namespaceWithout(ctx, s, "count/deployments.apps")), s.NewName("refused"), s.Size(1, 3))
			degraded(ctx, s, mc, cachev1alpha1.ReasonQuotaExceeded, "exceeded quota")
			first := i.scrape(ctx, s)
			i.recordErrors(ctx, s, "a Memcached that a quota refuses", "memcached", first).
				fires("MemcachedDegraded", mc).fires("MemcachedNotAvailable", mc).fires("MemcachedReconcileErrors", nil)
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc)
		}).
		Assess("while no status can be written", func(ctx context.Context, s *framework.Scope, i *scraped) {
			mc := create(ctx, s, s.NewName("silent"), s.Size(1, 2))
			settled(ctx, s, mc)
			giveBack := revoke(ctx, s, cachev1alpha1.GroupVersion.Group, "memcacheds/status", "patch")
			resize(ctx, s, mc, s.Size(3, 5))
			framework.WaitForDeployment(ctx, s, client.ObjectKeyFromObject(mc), *mc.Spec.Size)
			i.recordErrors(ctx, s, "an operator that may write no status", "memcached", i.scrape(ctx, s)).
				fires("MemcachedReconcileErrors", nil)
			giveBack()
			settled(ctx, s, mc)
			remove(ctx, s, mc)
			framework.WaitForDeletion(ctx, s, mc)
		}).
		Assess("while no webhook can be made to trust its certificate", func(ctx context.Context, s *framework.Scope, i *scraped) {
			configurations := "validatingwebhookconfigurations"
			bind := unbind(ctx, s, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "operator-webhook-trust-rolebinding"}},
				authorizationv1.ResourceAttributes{Group: admissionregistrationv1.GroupName, Resource: configurations, Name: validating, Verb: "patch"})
			configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: validating}}
			trust := []byte(`[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)
			if err := s.Client.Patch(ctx, configuration, client.RawPatch("application/json-patch+json", trust)); err != nil {
				s.Fatal(err)
			}
			i.recordErrors(ctx, s, "an operator that may not make webhooks trust it", "certificates", i.scrape(ctx, s)).
				fires("MemcachedOperatorCertificates", nil)
			bind()
			framework.WaitForObject(ctx, s, configuration, HaveField("Webhooks", HaveEach(HaveField("ClientConfig.CABundle", Not(BeEmpty())))))
		}).
		Assess("while the webhooks can't decide", func(ctx context.Context, s *framework.Scope, i *scraped) {
			mc := named(s, s.NewName("undecided"))
			giveBack := revoke(ctx, s, cachev1alpha1.GroupVersion.Group, "memcacheds", "list")
			fails := func() []scrape {
				if err := s.Client.Create(ctx, mc.DeepCopy(), client.DryRunAll); !apierrors.IsInternalError(err) {
					s.Fatalf("expected an internal error of the webhook; last seen: %v", err)
				}
				return i.scrape(ctx, s)
			}
			i.record("webhooks that can't decide", asked, i.healthy, fails(), fails()).
				fires("MemcachedWebhookErrors", nil)
			giveBack()
			framework.WaitFor(ctx, s, "the webhook", func(ctx context.Context) error { return s.Client.Create(ctx, mc.DeepCopy(), client.DryRunAll) })
		}).
		Assess("while one of two replicas is down", func(ctx context.Context, s *framework.Scope, i *scraped) {
			leader, other := i.replicas(s)[0], i.replicas(s)[1]
			followed(ctx, s, leader.Kill)
			framework.WaitForMetrics(ctx, s, i.samples(s, other), HaveKeyWithValue(ContainSubstring("leader_election_master_status"), 1.0))
			i.record("a replica that is down", retried, i.healthy, i.scrape(ctx, s), i.scrape(ctx, s))
			if err := other.Stop(ctx); err != nil {
				s.Fatal(err)
			}
			i.record("no replica that answers", retried, i.healthy, i.scrape(ctx, s), i.scrape(ctx, s)).
				fires("MemcachedOperatorDown", nil)
			gone := []scrape{{Gone: true}, {Gone: true}}
			i.record("a Deployment of the operator without pods", retried, i.healthy, gone, gone).
				fires("MemcachedOperatorDown", nil)
		}).
		Assess("while none leads", func(ctx context.Context, s *framework.Scope, i *scraped) {
			lease := leaseOf(s)
			bind := unbind(ctx, s, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: lease.Namespace, Name: "operator-leader-election-rolebinding"}},
				authorizationv1.ResourceAttributes{Group: "coordination.k8s.io", Resource: "leases", Namespace: lease.Namespace, Name: lease.Name, Verb: "update"})
			for _, replica := range i.replicas(s) {
				if err := replica.Restart(ctx, i.changes...); err != nil {
					s.Fatal(err)
				}
			}
			i.record("an operator that may not take its lease", retried, i.healthy, i.scrape(ctx, s), i.scrape(ctx, s)).
				fires("MemcachedOperatorWithoutLeader", nil)
			bind()
			framework.WaitForObject(ctx, s.Patient(framework.Converge), lease, HaveField("Spec.HolderIdentity", HaveValue(Not(BeEmpty()))))
		}).
		Assess("while pods take long to get ready", func(ctx context.Context, s *framework.Scope, i *scraped) {
			defer latePods(ctx, s)()
			settled(ctx, s, create(ctx, inNamespace(s, anotherNamespace(ctx, s)), s.NewName("quick"), s.Size(1, 2)))
			before := i.scrape(ctx, s)
			mc := create(ctx, s, s.NewName("late"), s.Size(1, 2))
			framework.WaitForConditions(ctx, s, mc, framework.Condition{
				Type: cachev1alpha1.ConditionAvailable, Status: metav1.ConditionFalse, Reason: cachev1alpha1.ReasonReplicasNotReady,
			}, healthy)
			waiting := i.scrape(ctx, s)
			i.record("a Memcached whose pods are not ready", retried, before, waiting, i.scrape(ctx, s)).
				fires("MemcachedNotAvailable", mc)
			settled(ctx, s.Patient(slowTimeout), mc)
			i.record("Memcacheds that take long", retried, before, waiting, i.scrape(ctx, s)).
				fires("MemcachedSlowToBecomeAvailable", nil)
		}).
		Assess("fire exactly for what they are about", func(ctx context.Context, s *framework.Scope, i *scraped) {
			outcomes := i.evaluate(ctx, s)
			for _, scenario := range i.scenarios {
				NewWithT(s).Expect(outcomes[scenario.Name]).To(ConsistOf(scenario.want), "for "+scenario.Name)
			}
		}).
		TestAlone(t)
}

// validating is the configuration of the webhooks that validate.
const validating = "operator-validating-webhook-configuration"

// scraped is an installation with two replicas, and what was found when it was scraped.
type scraped struct {
	changes []runner.Change
	second  *runner.Replica
	client  *http.Client
	token   string

	healthy   []scrape
	scenarios []*scenario
	evaluator func() (path string, err error)
}

// scenario and scrape are what scripts/alerts reads.
type scenario struct {
	Name    string   `json:"name"`
	Every   string   `json:"every"`
	Targets []target `json:"targets"`

	want []any // what fires, without the alerts' severities
}

type target struct {
	Labels  map[string]string `json:"labels"`
	Scrapes []scrape          `json:"scrapes"`
}

type scrape struct {
	Text string `json:"text,omitempty"`
	Down bool   `json:"down,omitempty"`
	Gone bool   `json:"gone,omitempty"`
}

// newScraped restarts the operator with two replicas, and starts to compile what evaluates the alerts.
func newScraped(ctx context.Context, s *framework.Scope) *scraped {
	s.Helper()
	i := &scraped{changes: []runner.Change{shortLease(s), runner.WithArgs("--recheck-interval=1s", "--max-total-size-per-namespace=50")}}
	path, err := filepath.Abs("../../bin/alerts")
	if err != nil {
		s.Fatal(err)
	}
	compiled := make(chan error, 1)
	go func() { compiled <- runner.Build(ctx, "../../scripts/alerts", ".", path) }()
	i.evaluator = sync.OnceValues(func() (string, error) { return path, <-compiled })
	s.Cleanup(func() { _, _ = i.evaluator() })

	restart(ctx, s, i.changes...)
	if i.second, err = s.Operator.AddReplica(ctx, i.changes...); err != nil {
		s.Fatal(err)
	}
	reader := newAccount(ctx, s, s.NewName("reader"))
	mayReadMetrics(ctx, s, reader)
	i.client, i.token = newScraper(ctx, s), token(ctx, s, reader)
	settled(ctx, s, create(ctx, s, s.NewName("served"), s.Size(1, 3)))
	s.Cleanup(func() {
		if err := i.second.Remove(context.WithoutCancel(ctx)); err != nil {
			s.Error(err)
		}
	})
	return i
}

// replicas returns both replicas. Until the first one is killed, it leads.
func (i *scraped) replicas(s *framework.Scope) []*runner.Replica {
	return []*runner.Replica{s.Operator.Replicas()[0], i.second}
}

// scrape scrapes the replicas.
func (i *scraped) scrape(ctx context.Context, s *framework.Scope) []scrape {
	s.Helper()
	var scrapes []scrape
	for _, replica := range i.replicas(s) {
		code, text, err := get(ctx, i.client, "https://"+replica.MetricsAddress(), i.token)
		switch {
		case ctx.Err() != nil || err == nil && code != http.StatusOK:
			s.Fatalf("the metrics of %s are answered with %d: %v\n%.200s", replica.Name(), code, err, text)
		case err != nil:
			scrapes = append(scrapes, scrape{Down: true})
		default:
			scrapes = append(scrapes, scrape{Text: text})
		}
	}
	return scrapes
}

// samples returns a function that scrapes one replica.
func (i *scraped) samples(s *framework.Scope, replica *runner.Replica) func(context.Context) (map[string]float64, error) {
	return func(ctx context.Context) (map[string]float64, error) {
		code, text, err := get(ctx, i.client, "https://"+replica.MetricsAddress(), i.token)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("the metrics of %s are answered with %d", replica.Name(), code)
		}
		if err != nil {
			return nil, err
		}
		return framework.ParseMetrics(strings.NewReader(text))
	}
}

// record records a scenario in which the counters go on to grow as they did from the last scrape but one to the last.
func (i *scraped) record(what string, every time.Duration, scrapes ...[]scrape) *scenario {
	recorded := &scenario{Name: what, Every: every.String(), want: []any{}}
	for replica := range scrapes[0] {
		// Labels as the Prometheus operator gives them to the pods behind a Service.
		of := target{Labels: map[string]string{
			"namespace": "operator-system", "service": "operator-controller-manager-metrics-service", "endpoint": "https", "container": "manager",
			"job": "operator-controller-manager-metrics-service", "pod": fmt.Sprintf("operator-controller-manager-%d", replica),
			"instance": fmt.Sprintf("10.0.0.%d:8443", replica),
		}}
		for _, scraped := range scrapes {
			of.Scrapes = append(of.Scrapes, scraped[replica])
		}
		recorded.Targets = append(recorded.Targets, of)
	}
	i.scenarios = append(i.scenarios, recorded)
	return recorded
}

// recordErrors records a scenario in which reconciles of a controller fail, after they have failed again since the first scrape. Each replica
// whose controller fails must have done so.
func (i *scraped) recordErrors(ctx context.Context, s *framework.Scope, what, controller string, first []scrape) *scenario {
	s.Helper()
	series := fmt.Sprintf("controller_runtime_reconcile_errors_total{controller=%q}", controller)
	failing := i.replicas(s)
	if controller == "memcached" {
		failing = failing[:1] // the one that leads
	}
	for n, replica := range failing {
		before, err := framework.ParseMetrics(strings.NewReader(first[n].Text))
		if err != nil {
			s.Fatal(err)
		}
		framework.WaitForMetrics(ctx, s, i.samples(s, replica), HaveKeyWithValue(series, BeNumerically(">", before[series])))
	}
	return i.record(what, retried, i.healthy, first, i.scrape(ctx, s))
}

// fires says that an alert fires in the scenario. If it is about a Memcached, it names that.
func (r *scenario) fires(alert string, about *cachev1alpha1.Memcached) *scenario {
	names := HaveField("Annotations", HaveKeyWithValue("summary", Not(ContainSubstring("<"))))
	if about != nil {
		names = HaveField("Annotations", HaveKeyWithValue("summary", ContainSubstring("The Memcached "+about.Namespace+"/"+about.Name+" ")))
	}
	r.want = append(r.want, And(HaveField("Alert", alert), names))
	return r
}

// fired is what scripts/alerts says of an alert that fires.
type fired struct {
	Alert               string
	Labels, Annotations map[string]string
	After               string
}

// evaluate returns what fires in each scenario, by its name.
func (i *scraped) evaluate(ctx context.Context, s *framework.Scope) map[string][]fired {
	s.Helper()
	path, err := i.evaluator()
	if err != nil {
		s.Fatal(err)
	}
	directory, err := memcached.Manifests("../../operator/config/prometheus")
	if err != nil {
		s.Fatal(err)
	}
	manifests, err := manifest.Render(directory)
	if err != nil {
		s.Fatal(err)
	}
	endpoints, _, err := unstructured.NestedSlice(manifests.Select("ServiceMonitor")[0].Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 {
		s.Fatalf("expected one endpoint in the ServiceMonitor; last seen: %v, %v", endpoints, err)
	}
	labels := map[string]any{}
	for _, field := range []string{"honorLabels", "relabelings", "metricRelabelings"} {
		labels[field] = endpoints[0].(map[string]any)[field]
	}
	request, err := json.Marshal(map[string]any{
		"rules": manifests.Select("PrometheusRule")[0].Object["spec"], "endpoint": labels, "scenarios": i.scenarios,
	})
	if err != nil {
		s.Fatal(err)
	}
	var outcomes []struct {
		Scenario string
		Fired    []fired
	}
	command := exec.CommandContext(ctx, path)
	command.Stdin = bytes.NewReader(request)
	answer, err := command.Output()
	if err == nil {
		err = json.Unmarshal(answer, &outcomes)
	}
	if err != nil {
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		s.Fatalf("evaluating the alerts: %v", err)
	}
	byName := map[string][]fired{}
	for _, outcome := range outcomes {
		byName[outcome.Scenario] = outcome.Fired
		s.Logf("%s: %+v", outcome.Scenario, outcome.Fired)
	}
	return byName
}

// unbind deletes a binding of the operator's, and returns when the API server acts on it. bind creates it again, and so does the end of
// the test.
func unbind(ctx context.Context, s *framework.Scope, binding client.Object, granted authorizationv1.ResourceAttributes) (bind func()) {
	s.Helper()
	if err := s.Client.Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil {
		s.Fatal(err)
	}
	bind = sync.OnceFunc(func() {
		again := binding.DeepCopyObject().(client.Object)
		again.SetResourceVersion("")
		again.SetUID("")
		if err := s.Client.Create(context.WithoutCancel(ctx), again); err != nil {
			s.Errorf("binding the role again: %v", err)
		}
	})
	remove(ctx, s, binding)
	s.Cleanup(bind)
	untilJudged(ctx, s, authorizationv1.SubjectAccessReviewSpec{User: s.Operator.UserName(), ResourceAttributes: &granted}, false)
	return bind
}

// latePods makes each simulated pod of the feature's namespace take long until it is ready, unless it exists already.
func latePods(ctx context.Context, s *framework.Scope) (lift func()) {
	s.Helper()
	meta := metav1.ObjectMeta{Name: s.Namespace + "-late"}
	annotations := fmt.Sprintf(`[JSONPatch{op: "add", path: "/metadata/annotations", value: {"testbed.example.com/ready-after": %q}}]`, slowly)
	return inForceWhen(ctx, s, func(ctx context.Context) error {
		pod := podOf(s, nil)
		if err := s.Client.Create(ctx, pod, client.DryRunAll); err != nil {
			return err
		}
		if len(pod.Annotations) == 0 {
			return errors.New("expected that a pod gets an annotation; last seen: it has none")
		}
		return nil
	},
		&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{corev1.GroupName}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{Expression: annotations},
			}},
		}},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: onlyNamespace(s)},
		}},
	)
}
