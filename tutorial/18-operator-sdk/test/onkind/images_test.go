// Package onkind_test runs the operators of this chapter that have no Go in them as images.
package onkind_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/example/operator-testbed/e2e/cluster"
	"github.com/example/operator-testbed/e2e/cluster/kind/kindtest"
	"github.com/example/operator-testbed/e2e/conformance/image/imagetest"
	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/sdk/images"
	"github.com/example/operator-testbed/e2e/tier"
)

const (
	root    = "../../../.."
	chapter = "../.."
	// operatorImage is the name in config/manager.
	operatorImage = "docker.io/library/controller:latest"
	// memcachedImage is the one in the chart's values, and in the role's defaults.
	memcachedImage = "docker.io/library/memcached:1.6.39-alpine"
)

// TestHelmOperatorAsImage runs the operator that is a chart. It is skipped where make sdk has not built the program.
func TestHelmOperatorAsImage(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsKind(t)
	tools := sdk.Need(t, root)
	project := filepath.Join(chapter, "helm")
	image, err := images.Helm(tools, project)
	if err != nil {
		t.Fatal(err)
	}
	serves(t, "helm-operator", project, image, "Deployed")
}

// TestAnsibleOperatorAsImage runs the one that is a role. It is skipped, too, where "there is no mmdebstrap".
func TestAnsibleOperatorAsImage(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsKind(t)
	tools := sdk.Need(t, root)
	system := images.NeedDebian(t, root)
	project := filepath.Join(chapter, "ansible")
	image, err := images.Ansible(tools, project, system)
	if err != nil {
		t.Fatal(err)
	}
	serves(t, "ansible-operator", project, image, "Successful")
}

// TestConformanceOfAnAnsibleOperator checks it with the points that need no process: no executable could be taken out of its image.
func TestConformanceOfAnAnsibleOperator(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsKind(t)
	tools := sdk.Need(t, root)
	system := images.NeedDebian(t, root)
	project := filepath.Join(chapter, "ansible")
	image, err := images.Ansible(tools, project, system)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "run", "./e2e/cmd/testbed", "conformance", "--cluster=kind",
		"--operator="+imagetest.Archive(t, map[string]v1.Image{operatorImage: image}), "--load="+kindtest.MemcachedArchive(t, memcachedImage))
	for flag, file := range map[string]string{"manifests": "config/default", "sample": "config/samples/cache_v1alpha1_memcached.yaml"} {
		path, err := filepath.Abs(filepath.Join(project, file))
		if err != nil {
			t.Fatal(err)
		}
		command.Args = append(command.Args, "--"+flag+"="+path)
	}
	for claim := range outcomesOfAnsible {
		command.Args = append(command.Args, "--point="+claim)
	}
	command.Dir = root
	command.Env = append(os.Environ(), "TESTBED_STATE="+t.TempDir())
	command.Stderr = t.Output() // which shows that it makes progress
	printed, err := command.Output()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v\n%s", err, printed)
	}
	for claim, outcome := range outcomesOfAnsible {
		if !regexp.MustCompile(`(?m)^\S+ +` + outcome + ` +` + regexp.QuoteMeta(claim) + `$`).Match(printed) {
			t.Errorf("%s: expected that it %s; last seen:\n%s", claim, outcome, printed)
		}
	}
}

// outcomesOfAnsible are what conformance says of points that do not depend on timing. A playbook takes many seconds, and changes what others
// have done meanwhile, so other points hold in some runs only.
var outcomesOfAnsible = map[string]string{
	"owned objects are put back when they are deleted":             "holds",
	"no write follows from a change that does not matter":          "holds",
	"owner references pass OwnerReferencesPermissionEnforcement":   "holds",
	"a deletion while the operator is down leaves nothing":         "holds",
	"permissions are named one by one":                             "holds",
	"the manager's pods meet the Pod Security Standard restricted": "holds",
	"the manager's containers have read-only root file systems":    "does not hold",
}

// serves deploys a project's operator as an image on a kind cluster of that name, with the manifests, and so with the permissions and
// limits, that are in config/default. Then it checks what real pods can show of the contract: the size is followed, memcached listens on the
// port, a deleted Deployment comes back, and a deletion leaves nothing. No permission may be missing. The condition is the one that the operator's users wait for.
func serves(t *testing.T, clusterName, project string, image v1.Image, condition string) {
	t.Helper()
	p, kubeconfig := kindtest.Start(t, clusterName, imagetest.Archive(t, map[string]v1.Image{operatorImage: image}))
	if err := p.StockAs(t.Context(), memcachedImage); err != nil {
		t.Fatal(err)
	}
	program, err := cluster.Kubectl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := func(arguments ...string) (string, error) {
		command := exec.CommandContext(t.Context(), program, append([]string{"--kubeconfig=" + kubeconfig}, arguments...)...)
		command.Env = append(os.Environ(), "KUBECACHEDIR="+t.TempDir())
		output, err := command.CombinedOutput()
		return string(output), err
	}
	kubectl := func(arguments ...string) string {
		t.Helper()
		output, err := run(arguments...)
		if err != nil {
			logs, _ := run("logs", "--namespace=operator-system", "deployment/operator-controller-manager", "--tail=50")
			pods, _ := run("get", "pods", "--all-namespaces", "--output=wide")
			t.Fatalf("kubectl %s: %v\n%s\nThe pods:\n%s\nThe operator's log:\n%s", strings.Join(arguments, " "), err, output, pods, logs)
		}
		return output
	}
	const (
		memcached  = "memcached/memcached-sample"
		deployment = "deployment/memcached-sample"
		timeout    = "--timeout=5m"
	)
	waitFor := func(object, path, value string) {
		t.Helper()
		kubectl("wait", "--for=jsonpath={"+path+"}="+value, object, timeout)
	}
	kubectl("apply", "--server-side", "--kustomize="+filepath.Join(project, "config", "default"))
	kubectl("rollout", "status", "--namespace=operator-system", "deployment/operator-controller-manager", timeout)
	kubectl("apply", "--filename="+filepath.Join(project, "config", "samples", "cache_v1alpha1_memcached.yaml"))
	kubectl("wait", "--for=condition="+condition, memcached, timeout)
	waitFor(deployment, ".status.readyReplicas", "3")

	kubectl("patch", memcached, "--type=merge", `--patch={"spec":{"size":2,"containerPort":11212}}`)
	waitFor(deployment, ".spec.template.spec.containers[0].ports[0].containerPort", "11212")
	waitFor(deployment, ".spec.replicas", "2")
	kubectl("rollout", "status", deployment, timeout)
	// A pod of the old template may still be terminating.
	pod := kubectl("get", "pods", "--sort-by=.metadata.creationTimestamp", "--output=jsonpath={.items[-1:].metadata.name}")
	request := func(port string) string {
		answer, _ := run("get", "--raw=/api/v1/namespaces/default/pods/"+pod+":"+port+"/proxy/")
		return answer
	}
	// memcached does not speak HTTP: it closes the connection, or answers with something else. The pod is ready a moment before it listens.
	answer := request("11212")
	for start := time.Now(); !connected.MatchString(answer) && time.Since(start) < time.Minute; answer = request("11212") {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(time.Second):
		}
	}
	if !connected.MatchString(answer) {
		t.Errorf("expected memcached to listen on port 11212 of the pod %s; last seen: %s", pod, answer)
	}
	if answer := request("11211"); !strings.Contains(answer, "connection refused") {
		t.Errorf("expected memcached not to listen on port 11211 of the pod %s any more; last seen: %s", pod, answer)
	}

	kubectl("delete", deployment, timeout)
	kubectl("wait", "--for=create", deployment, timeout)
	waitFor(deployment, ".status.readyReplicas", "2")

	kubectl("delete", memcached, timeout)
	kubectl("wait", "--for=delete", deployment, timeout)
	if left := kubectl("get", "deployments,secrets", "--output=name"); strings.TrimSpace(left) != "" {
		t.Errorf("the deletion has left %q behind", left)
	}
	if log := kubectl("logs", "--namespace=operator-system", "deployment/operator-controller-manager"); strings.Contains(log, "is forbidden") {
		t.Errorf("expected the operator to ask for nothing that config/rbac does not allow; last seen:\n%s", log)
	}
	restarts := kubectl("get", "pods", "--namespace=operator-system", "--output=jsonpath={.items[*].status.containerStatuses[*].restartCount}")
	if restarts != "0" {
		t.Errorf("the operator's containers were restarted %s times; are the limits in config/manager too low?", restarts)
	}
}

// connected matches what the API server says about a pod that accepts connections, and does not speak HTTP.
var connected = regexp.MustCompile(`EOF|malformed HTTP response`)
