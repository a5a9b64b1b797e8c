package framework

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
)

// Invariant is a claim about the operator that must be true in every feature. With [Options.Always], it is checked at the end of each
// feature, so it finds faults that no feature looks for.
type Invariant struct {
	// Claim is what must be true, such as "no event without its stored status".
	Claim string
	// Violations returns what contradicts the claim, one sentence for each violation.
	Violations func(Seen) []string
}

// Seen is the evidence about the operator when a feature is done.
type Seen struct {
	// Namespace is the feature's.
	Namespace string
	// Versions are all versions of the objects of [Options.Record] in the namespace, ordered by revision. Complete is false if some may be
	// missing: see [record.Recorder.Complete].
	Versions []record.Version
	Complete bool
	// SameClock is false if the operator's clock may differ from the API server's.
	SameClock bool
	// Events are those about objects in the namespace.
	Events []eventsv1.Event
	// Secrets are all Secrets of the cluster.
	Secrets []corev1.Secret
	// Logs contains the logs of the operator's processes, by the name of the process: at least since the feature started, and everything
	// that no earlier feature has seen. It contains nothing about a deployed operator.
	Logs map[string]string
	// Writes are the operator's write requests in the namespace, whether they were granted or not, or nil if there is no audit log.
	Writes []auditv1.Event
}

// beginning is where what a feature leaves starts.
type beginning struct {
	mark audit.Mark
	// logs are the lengths of the operator's logs that earlier features have seen. Those of the start of the operator are left for the first.
	logs map[string]int64
}

// begin returns the beginning of a feature.
func (s *Suite) begin(scope *Scope) (beginning, error) {
	if len(s.options.Always) == 0 || scope.Operator == nil {
		return beginning{}, nil
	}
	s.mu.Lock()
	since := beginning{logs: maps.Clone(s.seen)}
	s.mu.Unlock()
	if scope.Audit == nil {
		return since, nil
	}
	var err error
	since.mark, err = scope.Audit.Now()
	return since, err
}

// verifyAlways checks the suite's invariants at the end of a feature. After a failure it does not: that one explains the rest.
func (s *Suite) verifyAlways(ctx context.Context, scope *Scope, t *testing.T, since beginning) {
	if len(s.options.Always) == 0 || scope.Operator == nil || t.Failed() || t.Skipped() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	of := scope.With(t)
	seen, err := s.see(ctx, scope, since)
	if err != nil {
		of.Errorf("looking at what the feature leaves: %v", err)
		return
	}
	for _, invariant := range s.options.Always {
		of.step = invariant.Claim
		if violations := invariant.Violations(seen); len(violations) > 0 {
			of.Errorf("expected %s; last seen: %s", invariant.Claim, strings.Join(violations, "\n"))
		}
	}
}

// see collects what the invariants are about.
func (s *Suite) see(ctx context.Context, scope *Scope, since beginning) (Seen, error) {
	seen := Seen{Namespace: scope.Namespace, SameClock: s.foreign == nil, Logs: map[string]string{}}
	events, secrets := &eventsv1.EventList{}, &corev1.SecretList{}
	// Events first: each is younger than the version that it is about.
	if err := errors.Join(s.client.List(ctx, events, client.InNamespace(scope.Namespace)), s.client.List(ctx, secrets)); err != nil {
		return Seen{}, err
	}
	var err error
	if seen.Versions, err = scope.History.CaughtUp(ctx); err != nil {
		return Seen{}, err
	}
	seen.Events, seen.Secrets, seen.Complete = events.Items, secrets.Items, scope.History.Complete()
	if scope.Deployed != nil {
		return seen, nil
	}
	for _, file := range scope.Operator.LogFiles() {
		text, err := readFrom(file, since.logs[file])
		if err != nil {
			return Seen{}, err
		}
		s.mu.Lock()
		s.seen[file] = max(s.seen[file], since.logs[file]+int64(len(text)))
		s.mu.Unlock()
		seen.Logs[strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))] = text
	}
	if scope.Audit != nil {
		seen.Writes, err = scope.Audit.Containing(since.mark, scope.Namespace,
			audit.ByUser(scope.Operator.UserName()), audit.Writes, audit.InNamespace(scope.Namespace))
	}
	return seen, err
}

// readFrom returns what a file contains from the offset on; nothing if there is no such file.
func readFrom(path string, offset int64) (string, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return "", err
	}
	content, err := io.ReadAll(file)
	return string(content), err
}

// StoredBefore is the invariant that an event is recorded only once the API server has stored the status that it announces. says reports
// whether a version of the object says the same as the event. It is called only with events about objects of the kind. An object
// without any recorded version is not judged: it came and went between two watches. A change of a definition ends all watches of its kind.
func StoredBefore(kind string, says func(eventsv1.Event, record.Version) bool) Invariant {
	return Invariant{Claim: "no event without its stored status", Violations: func(seen Seen) []string {
		var violations []string
		for _, event := range seen.Events {
			if event.Regarding.Kind != kind || !seen.Complete {
				continue
			}
			versions := record.Of(seen.Versions, event.Regarding.UID)
			stored := slices.ContainsFunc(versions, func(v record.Version) bool {
				return v.Before(event.ResourceVersion) && says(event, v)
			})
			if !stored && len(versions) > 0 {
				violations = append(violations, fmt.Sprintf("the event %s %s %q about %s, whose status never said so before",
					event.Type, event.Reason, event.Note, event.Regarding.Name))
			}
		}
		return violations
	}}
}
