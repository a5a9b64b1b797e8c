package framework

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/operator-testbed/e2e/internal/logline"
)

// NoKeyInLog is the invariant that the operator's log contains no private key and no token from any Secret of the cluster, in any form in
// which a Secret may be printed.
func NoKeyInLog() Invariant {
	return Invariant{Claim: "no key material of a Secret in the log", Violations: func(seen Seen) []string {
		var violations []string
		for i := range seen.Secrets {
			secret := &seen.Secrets[i]
			for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
				for _, form := range confidential(secret, key) {
					for _, process := range slices.Sorted(maps.Keys(seen.Logs)) {
						if line := lineWith(seen.Logs[process], form); line != "" {
							violations = append(violations, fmt.Sprintf("%s of the Secret %s/%s in the log of %s: %.80s…", key, secret.Namespace, secret.Name, process, line))
						}
					}
				}
			}
		}
		return violations
	}}
}

// part is how many bytes of a confidential value betray it in a log.
const part = 24

// confidential returns texts of which each shows that a log holds the value of a Secret's key; none if the value may be known to all.
func confidential(secret *corev1.Secret, key string) []string {
	value := secret.Data[key]
	core := value
	switch _, body, isKey := strings.Cut(string(value), "PRIVATE KEY-----\n"); {
	case isKey:
		core = []byte(body)
	case strings.Contains(string(value), "-----BEGIN CERTIFICATE-----"), len(value) < part, key == corev1.ServiceAccountNamespaceKey:
		return nil
	}
	core = core[:min(len(core), 2*part)]
	// A Secret as JSON or YAML has its values in Base64, whose digits depend on where the value begins, so the form is that of the whole.
	encoded := base64.StdEncoding.EncodeToString(value)
	decimal := strings.Trim(fmt.Sprintf("%d", core), "[]")
	return []string{
		string(core[:min(len(core), part)]),
		encoded[len(encoded)/2 : min(len(encoded), len(encoded)/2+2*part)],
		decimal,
		strings.ReplaceAll(decimal, " ", ","),
		hex.EncodeToString(core),
	}
}

func lineWith(log, text string) string {
	for line := range strings.Lines(log) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// BoundedLog is the invariant that, about the feature's namespace, the operator's processes log no more lines than they send write
// requests. Errors do not count, but there may be only errs of them: a reconcile that can't even read is retried, and logs an error each
// time. A line may precede its request, which appears in the audit log only after the response, so one more line is allowed for each of the
// objects that the operator reconciles at once. Without an audit log, the invariant holds.
func BoundedLog(errs, atOnce int) Invariant {
	return Invariant{Claim: "a bounded number of lines in the log per write", Violations: func(seen Seen) []string {
		if seen.Writes == nil {
			return nil
		}
		var violations []string
		for _, of := range []struct {
			level   string
			isError bool
			limit   int
		}{{"lines", false, len(seen.Writes) + atOnce}, {"errors", true, errs}} {
			count, last := 0, ""
			for _, log := range seen.Logs {
				for line := range strings.Lines(log) {
					if strings.Contains(line, seen.Namespace) && (logline.Error([]byte(line)) != "") == of.isError {
						count, last = count+1, line
					}
				}
			}
			if count > of.limit {
				violations = append(violations, fmt.Sprintf("%d %s about the namespace with %d writes, such as %.300s", count, of.level, len(seen.Writes), last))
			}
		}
		return violations
	}}
}
