package embedded

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// The components of a cluster: the names of their executables, processes and
// logs.
const (
	Etcd                  = "etcd"
	KubeAPIServer         = "kube-apiserver"
	KubeControllerManager = "kube-controller-manager"
	KubeScheduler         = "kube-scheduler"
	Kwok                  = "kwok"
)

// components lists them in the order of their start.
var components = []string{Etcd, KubeAPIServer, KubeControllerManager, KubeScheduler, Kwok}

// etcd listens on Unix sockets in its own directory, which only this user can
// enter: no port to choose, and no certificates. The names are relative to the
// working directory, because the path of a socket may have no more than 104 bytes.
const (
	etcdClientURL = "unix://client.sock:0"
	etcdPeerURL   = "unix://peer.sock:0"
)

// etcdData is etcd's data directory, relative to its working directory.
const etcdData = "data"

// controllers are those that an operator's workload needs, and no cloud.
var controllers = []string{
	"clusterrole-aggregation-controller",
	"cronjob-controller",
	"daemonset-controller",
	"deployment-controller",
	"disruption-controller",
	"endpointslice-controller",
	"garbage-collector-controller",
	"job-controller",
	"namespace-controller",
	"node-lifecycle-controller",
	"persistentvolumeclaim-protection-controller", // or a claim could never be deleted
	"pod-garbage-collector-controller",
	"replicaset-controller",
	"resourcequota-controller",
	"root-ca-certificate-publisher-controller",
	"serviceaccount-controller",
	"statefulset-controller",
	"storage-version-migrator-controller",
	"taint-eviction-controller",
	"ttl-after-finished-controller",
}

// process gives the process of a component with the executables in assets.
// None has state that is worth a graceful end: what etcd holds goes with the
// cluster.
func process(component string, assets string, l layout, port int) supervisor.Process {
	p := supervisor.Process{
		Name:    component,
		Path:    filepath.Join(assets, component),
		Dir:     string(l),
		Env:     environment(os.Environ()),
		Restart: true,
	}
	switch component {
	case Etcd:
		p.Dir, p.Args = l.etcd(), etcdFlags()
	case KubeAPIServer:
		p.Dir, p.Args = l.etcd(), apiserverFlags(l, port)
		p.Env = append(p.Env, apiserverGC)
	case KubeControllerManager:
		p.Args = controllerManagerFlags(l)
	case KubeScheduler:
		p.Args = schedulerFlags(l)
	case Kwok:
		p.Args = kwokFlags(l)
	}
	return p
}

// apiserverGC lets kube-apiserver's heap grow to three times what is in use, instead of twice, before it is collected. At its start
// most of that goes into what is never freed: this saves a tenth of its CPU time, for some 20 MiB.
const apiserverGC = "GOGC=200"

// environment is what a component gets of ours: not what sends it anywhere
// else than to this cluster.
func environment(ours []string) []string {
	elsewhere := []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"}
	return slices.DeleteFunc(slices.Clone(ours), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(elsewhere, strings.ToUpper(name))
	})
}

func etcdFlags() []string {
	return []string{
		"--data-dir=" + etcdData,
		"--name=" + Etcd,
		"--listen-client-urls=" + etcdClientURL,
		"--advertise-client-urls=" + etcdClientURL,
		"--listen-peer-urls=" + etcdPeerURL,
		"--initial-advertise-peer-urls=" + etcdPeerURL,
		"--initial-cluster=" + Etcd + "=" + etcdPeerURL,
		"--log-level=warn",
		// A member that is alone elects itself within an election timeout, which is over long before kube-apiserver first needs it. A
		// heartbeat more often costs as much CPU time as everything else that an idle etcd does.
		"--heartbeat-interval=50",
		"--election-timeout=250",
		// Nothing here has to survive a power cut.
		"--unsafe-no-fsync",
	}
}

func apiserverFlags(l layout, port int) []string {
	return []string{
		"--etcd-servers=" + etcdClientURL,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + l.pki(serverCert),
		"--tls-private-key-file=" + l.pki(serverKey),
		"--token-auth-file=" + l.tokens(),
		"--authorization-mode=RBAC",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement", // in addition to the default ones
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + l.pki(accountKey),
		"--service-account-signing-key-file=" + l.pki(accountKey),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--allow-privileged",
		"--audit-policy-file=" + l.auditPolicy(),
		"--audit-log-path=" + l.auditLog(),
		"--audit-log-mode=blocking", // a line is in the file when its request is done
		"--audit-log-maxsize=0",     // one file for as long as the cluster lives
		// There is one API server and nobody to protect it from: this saves
		// about half a second of the start.
		"--endpoint-reconciler-type=none",
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
		"--profiling=false",
	}
}

// clientFlags are those of both Kubernetes components that talk to the API
// server. Nobody scrapes them, and there is one of each.
func clientFlags(l layout, component string) []string {
	return []string{
		"--kubeconfig=" + l.kubeconfigOf(component),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--authentication-skip-lookup",
	}
}

// nodeMonitorGracePeriod is after how much silence a node counts as lost, with
// the pods on it. No node here fails on its own: a late heartbeat says
// that the machine is busy, so this is many heartbeats (stages/node.yaml) and
// not, as by default, one or two.
const nodeMonitorGracePeriod = 10 * time.Minute

func controllerManagerFlags(l layout) []string {
	return append(clientFlags(l, KubeControllerManager),
		"--controllers="+strings.Join(controllers, ","),
		"--root-ca-file="+l.pki(caCert),
		"--service-account-private-key-file="+l.pki(accountKey),
		"--node-monitor-grace-period="+nodeMonitorGracePeriod.String(),
	)
}

func schedulerFlags(l layout) []string { return clientFlags(l, KubeScheduler) }

func kwokFlags(l layout) []string {
	return []string{
		"--kubeconfig=" + l.kubeconfigOf(Kwok),
		"--config=" + l.stages(),
		"--manage-all-nodes",
		// No leases: the nodes' status says that they live (stages/node.yaml). Leases would be renewed every second or so, because a
		// restarted kwok, which gives itself a new name, plays its nodes only once its predecessor's leases have ended.
		"--node-lease-duration-seconds=0",
		"--v=WARN", // or each change of a pod is a line in its log
		"--cidr=10.244.0.0/16",
		"--node-ip=127.0.0.1",
	}
}
