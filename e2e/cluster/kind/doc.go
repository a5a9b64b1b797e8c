// Package kind is a real Kubernetes cluster in Docker, through kind's Go library: what only a real kubelet can show, shows
// here. Its node image is pulled, or made from source where there is no registry; see [Provider.Create].
//
// The configuration is kind/cluster.yaml, read as a file, so that kind's own command line makes the same cluster of it.
package kind
