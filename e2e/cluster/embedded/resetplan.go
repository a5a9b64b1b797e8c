package embedded

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// change is a change of what etcd holds.
type change struct {
	key   string
	value []byte // nil deletes the key
}

// resetPlan returns what makes etcd's contents now the baseline's again. It
// goes in the order in which things came into being, so that a controller that
// follows sees the end of an owner before that of what it owns, and does not
// make it again; and the parts of an aggregated ClusterRole before the whole.
func resetPlan(baseline, now contents, stays stays) []change {
	var gone, back []string
	for key, is := range now {
		if _, known := baseline[key]; !stays(key, is.Value) && (!known || terminatingKind(key, is.Value)) {
			gone = append(gone, key)
		}
	}
	for key, was := range baseline { // events expire
		if !strings.HasPrefix(key, eventKeys) && !stays(key, was.Value) && !bytes.Equal(now[key].Value, was.Value) {
			back = append(back, key)
		}
	}
	slices.SortFunc(gone, func(a, b string) int {
		return cmp.Or(cmp.Compare(now[a].Created, now[b].Created), strings.Compare(a, b))
	})
	slices.SortFunc(back, func(a, b string) int {
		return cmp.Or(cmp.Compare(baseline[a].Modified, baseline[b].Modified), strings.Compare(a, b))
	})
	var plan []change
	for _, key := range gone {
		plan = append(plan, change{key: key})
	}
	for _, key := range back {
		plan = append(plan, change{key, baseline[key].Value})
	}
	return plan
}

const (
	crdKeys        = registry + "apiextensions.k8s.io/customresourcedefinitions/"
	apiServiceKeys = registry + "apiregistration.k8s.io/apiservices/"
	eventKeys      = registry + "events/"
	leaseKeys      = registry + "leases/"
	peerKeys       = registry + "peerserverleases/"
)

// stays reports whether something in etcd is left as it is.
type stays func(key string, value []byte) bool

// staysAfterRenewal is staysAfterReset for a reset that replaces the CustomResourceDefinitions.
func staysAfterRenewal(key string, value []byte) bool {
	return !strings.HasPrefix(key, crdKeys) && staysAfterReset(key, value)
}

// staysAfterReset reports whether something is left as it is, whether it is in
// the baseline or not.
func staysAfterReset(key string, value []byte) bool {
	switch {
	case strings.HasPrefix(key, crdKeys):
		// A new kind restarts kube-controller-manager: better to update it in place.
		return !terminatingKind(key, value)
	case strings.HasPrefix(key, apiServiceKeys):
		// kube-apiserver makes one for each group of such kinds.
		return bytes.Contains(value, []byte(`"kube-aggregator.kubernetes.io/automanaged"`))
	default:
		// kube-apiserver's own addresses and identity.
		return strings.HasPrefix(key, peerKeys) || strings.HasPrefix(key, leaseKeys+"kube-system/apiserver-")
	}
}

// terminatingKind reports whether a CustomResourceDefinition only waits for its
// objects to go. Nobody could install it until then.
func terminatingKind(key string, value []byte) bool {
	return strings.HasPrefix(key, crdKeys) && bytes.Contains(value, []byte(`"deletionTimestamp":"`))
}
