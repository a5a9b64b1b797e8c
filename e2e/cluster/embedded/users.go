package embedded

import (
	"crypto/rand"
	"fmt"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// user is somebody who talks to the API server with a static token. All of
// them are in system:masters (RBAC doesn't limit them), but the audit log
// tells them apart by name.
type user struct {
	name  string
	token string
}

const (
	// admin is the user of the kubeconfig that a person gets.
	admin = "testbed-admin"
	// self is the user that we are: while the cluster starts, and to watch
	// over it.
	self = "testbed-supervisor"
)

// newUsers makes the administrator, ourselves, and one user for each component
// that needs one, by the name of the component.
func newUsers() map[string]user {
	users := map[string]user{}
	for component, name := range map[string]string{
		admin:                 admin,
		self:                  self,
		KubeControllerManager: "system:kube-controller-manager",
		KubeScheduler:         "system:kube-scheduler",
		Kwok:                  "kwok",
	} {
		users[component] = user{name: name, token: rand.Text()}
	}
	return users
}

// tokenFile is the form of kube-apiserver's --token-auth-file: token, user
// name, user id, groups.
func tokenFile(users map[string]user) []byte {
	var b strings.Builder
	for _, u := range users {
		fmt.Fprintf(&b, "%s,%s,%s,system:masters\n", u.token, u.name, u.name)
	}
	return []byte(b.String())
}

// contextName is the name of the context, the cluster and the user in a
// cluster's kubeconfig.
func contextName(cluster string) string { return "testbed-" + cluster }

// kubeconfig gives a user access to the cluster at the port on loopback.
func kubeconfig(cluster string, ca []byte, port int, u user) ([]byte, error) {
	name := contextName(cluster)
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   fmt.Sprintf("https://127.0.0.1:%d", port),
			CertificateAuthorityData: ca,
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: u.token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
}
