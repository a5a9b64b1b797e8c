// Package embedded is a Kubernetes cluster of host processes: the real etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler, and kwok, which
// plays the kubelets of a few nodes. It needs no container engine, no root and
// no network, listens on loopback only, and is up in about three seconds.
//
// What is real: the API with validation, admission, RBAC, webhooks and an
// audit log; scheduling, garbage collection and every controller that a
// workload needs. What is not: pods run nothing. Their status is played by the
// stages in this package, failures included (see stages/).
//
// [NewProvider] gives e2e-framework's cluster provider, for
// envfuncs.CreateCluster and everything around it. A program that creates a
// cluster calls supervisor.Main() first thing in main or TestMain.
package embedded
