package runner

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kubeconfig writes a kubeconfig file to path, for its owner only, that authenticates as the ServiceAccount with a token of
// its own: what it may do is what RBAC grants that ServiceAccount, as in a pod.
func Kubeconfig(ctx context.Context, admin *rest.Config, serviceAccount client.ObjectKey, path string) error {
	c, err := client.New(admin, client.Options{})
	if err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: serviceAccount.Namespace, Name: serviceAccount.Name}}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLifetime.Seconds()))}}
	if err := c.SubResource("token").Create(ctx, account, request); err != nil {
		return fmt.Errorf("requesting a token for ServiceAccount %s: %w", serviceAccount, err)
	}
	config, err := kubeconfig(admin, serviceAccount, request.Status.Token)
	if err != nil {
		return err
	}
	return clientcmd.WriteToFile(*config, path) // in a directory of the owner's only
}

// kubeconfig takes the way to the server from the admin's configuration and the user from the token.
func kubeconfig(admin *rest.Config, serviceAccount client.ObjectKey, token string) (*clientcmdapi.Config, error) {
	admin = rest.CopyConfig(admin)
	if err := rest.LoadTLSFiles(admin); err != nil {
		return nil, fmt.Errorf("reading the cluster's CA certificate: %w", err)
	}
	const cluster, user = "testbed", "operator"
	return &clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{cluster: {
			Server:                   admin.Host,
			CertificateAuthorityData: admin.CAData,
			InsecureSkipTLSVerify:    admin.Insecure,
			TLSServerName:            admin.ServerName,
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {Token: token}},
		Contexts:       map[string]*clientcmdapi.Context{user: {Cluster: cluster, AuthInfo: user, Namespace: serviceAccount.Namespace}},
		CurrentContext: user,
	}, nil
}
