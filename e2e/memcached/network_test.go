package memcached

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
	"github.com/example/operator-testbed/e2e/framework"
	"github.com/example/operator-testbed/e2e/framework/install"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	"github.com/example/operator-testbed/e2e/framework/runner"
)

// dialer is the image of the program that tries ports from inside a pod.
const dialer = "operator-testbed/dialer:suite"

// enforcement is how long a network may take to enforce a policy. What enforces none is known by nothing else.
const enforcement = time.Minute

// TestNetworkPolicy owns the operator, whose pod's ports are tried from pods of other namespaces.
func TestNetworkPolicy(t *testing.T) {
	type dialers struct{ unlabeled, scraper *corev1.Pod }
	feature := memcached.Feature("network policy").
		WithLabel("contract", "manager").
		WithLabel("disruptive", "operator").
		WithLabel("needs", "kubelet").
		Setup(needsKubelet).
		Setup(ownOperator)
	framework.Given(feature, func(ctx context.Context, s *framework.Scope) dialers {
		s.LoadImageArchive(ctx, dialerArchive(ctx, s))
		stop(ctx, s)
		s.Deploy(ctx, 1)
		operator := managers(ctx, s)[0].Status.PodIP
		return dialers{
			unlabeled: dialing(ctx, s, s.Namespace, operator, "8081", "8443", "9443"),
			scraper:   dialing(ctx, s, anotherNamespace(ctx, s, "metrics", "enabled"), operator, "8081", "8443", "9443"),
		}
	}).
		Assess("without one, whoever wants to connects", func(ctx context.Context, s *framework.Scope, pods dialers) {
			framework.WaitForLog(ctx, s, pods.unlabeled, "8081:open 8443:open 9443:open")
			framework.WaitForLog(ctx, s, pods.scraper, "8081:open 8443:open 9443:open")
		}).
		Assess("with the operator's, metrics are for namespaces that are labeled so, and webhooks for all", func(ctx context.Context, s *framework.Scope, pods dialers) {
			needsPolicies(ctx, s)
			policies, err := manifest.Render("../../operator/config/network-policy")
			if err != nil {
				s.Fatal(err)
			}
			if err := install.Apply(ctx, s.Client, policies.Objects()); err != nil {
				s.Fatal(err)
			}
			s.Cleanup(func() {
				if err := install.Remove(context.WithoutCancel(ctx), s.Config, policies.Objects()); err != nil {
					s.Error(err)
				}
			})
			framework.WaitForLog(ctx, s, pods.unlabeled, "8081:closed 8443:closed 9443:open")
			framework.WaitForLog(ctx, s, pods.scraper, "8081:closed 8443:open 9443:open")
			// The API server calls the webhooks, and the kubelet makes its probes, all the same.
			settled(ctx, s, create(ctx, s, s.NewName("cache"), s.Size(1, 2)))
			framework.WaitForDeployment(ctx, s, s.Deployed.Manager, 1)
		}).
		TestAlone(t)
}

// needsPolicies skips the test where the cluster's network enforces no policy: not even one that lets nobody in.
func needsPolicies(ctx context.Context, s *framework.Scope) {
	s.Helper()
	server := dialing(ctx, s, s.Namespace)
	framework.WaitForObject(ctx, s, server, HaveField("Status.PodIP", Not(BeEmpty())))
	visitor := dialing(ctx, s, s.Namespace, server.Status.PodIP, "8080")
	framework.WaitForLog(ctx, s, visitor, "8080:open")
	nobody := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.NewName("nobody")},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: server.Labels},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		},
	}
	add(ctx, s, nobody)
	bounded, cancel := context.WithTimeout(ctx, enforcement)
	defer cancel()
	if !s.LogHas(bounded, visitor, "8080:closed") {
		s.Skipf("the network of this cluster enforces no NetworkPolicy: nobody was to connect to a pod, and for %v everybody could", enforcement)
	}
}

// dialing runs the dialer in a namespace, with which it goes.
func dialing(ctx context.Context, s *framework.Scope, namespace string, args ...string) *corev1.Pod {
	s.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "dialer-", Labels: map[string]string{"dials": "nobody"}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(65532)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "dialer", Image: dialer, ImagePullPolicy: corev1.PullNever, Args: args,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	if len(args) > 0 {
		pod.Labels["dials"] = "somebody"
	}
	add(ctx, s, pod)
	framework.WaitForObject(ctx, s, pod, HaveField("Status.Phase", Equal(corev1.PodRunning)))
	return pod
}

// dialerArchive compiles the dialer and returns an archive of its image.
func dialerArchive(ctx context.Context, s *framework.Scope) string {
	s.Helper()
	directory := s.TempDir()
	binary, archive := filepath.Join(directory, "dialer"), filepath.Join(directory, "dialer.tar")
	if err := runner.Build(ctx, ".", "./internal/dialer", binary); err != nil {
		s.Fatal(err)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		s.Fatal(err)
	}
	image := imagetest.FromScratch(s, runtime.GOARCH, v1.Config{Entrypoint: []string{"/dialer"}}, map[string][]byte{"dialer": program})
	if err := crane.Save(image, dialer, archive); err != nil {
		s.Fatal(err)
	}
	return archive
}
