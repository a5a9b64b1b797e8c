package framework

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/operator-testbed/e2e/framework/audit"
	"github.com/example/operator-testbed/e2e/framework/record"
	"github.com/example/operator-testbed/e2e/host/home"
	"github.com/example/operator-testbed/e2e/internal/watch"
)

// keep writes what there is to see of a failure to a directory, which is printed in the end, and logs the last errors and warnings.
// What could not be kept is logged, and must not hide the failure that it is about.
func (s *Suite) keep(scope *Scope) {
	ctx, cancel := context.WithTimeout(context.Background(), artifactsTimeout)
	defer cancel()
	directory, err := artifactsDirectory(s.options.Name, scope.Name())
	if err != nil {
		scope.Logf("keeping what is seen of the failure: %v", err)
		return
	}
	seen := failure{
		client: s.client, kinds: s.options.Record, namespace: scope.Namespace,
		versions: scope.History.Versions(), logs: map[string]string{}, audit: scope.Audit, seed: s.seed,
	}
	if scope.Operator != nil {
		for _, replica := range scope.Operator.Replicas() {
			seen.logs[replica.Name()] = replica.LogFile()
		}
	}
	err = seen.write(ctx, directory)
	var clues []string
	for replica := range seen.logs {
		log, _ := os.ReadFile(filepath.Join(directory, replica+".log")) // write has noticed
		if errs := lastErrors(log, scope.Namespace, s.options.Name+"-", 3); len(errs) > 0 {
			scope.Logf("the last errors in %s.log:\n%s", replica, strings.Join(errs, "\n"))
			clues = append(clues, errs...)
		}
	}
	events := &eventsv1.EventList{}
	err = errors.Join(err, s.client.List(ctx, events, client.InNamespace(scope.Namespace)))
	if warnings := lastWarnings(events.Items, 3); len(warnings) > 0 {
		scope.Logf("the last warnings about objects in the namespace:\n%s", strings.Join(warnings, "\n"))
		clues = append(clues, warnings...)
	}
	scope.result.kept(directory, clues)
	if err != nil {
		scope.Logf("keeping what is seen of the failure: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.artifacts = append(s.artifacts, directory)
}

// printLast prints the lines to the file that $TESTBED_FAILURES names, for a program that prints last (see scripts/runner), or else to
// out.
func printLast(lines []string, out io.Writer) error {
	if len(lines) == 0 {
		return nil
	}
	text := strings.Join(lines, "\n") + "\n"
	if path := os.Getenv("TESTBED_FAILURES"); path != "" {
		return appendTo(path, text)
	}
	_, err := io.WriteString(out, text)
	return err
}

// appendTo appends text to a file in one write, so that several processes can share the file.
func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// artifactsDirectory makes a directory for a failed test, in the one that [home.Artifacts] returns.
func artifactsDirectory(suite, test string) (string, error) {
	artifacts, err := home.Artifacts()
	if err != nil {
		return "", err
	}
	parent := filepath.Join(artifacts, suite)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, strings.ReplaceAll(test, "/", "-")+"-")
}

// failure is where there is something to see of a failed test.
type failure struct {
	client    client.Client
	kinds     []schema.GroupVersionKind // besides pods and events
	namespace string
	versions  []record.Version
	logs      map[string]string // the operator's, by replica
	audit     *audit.Log        // nil where there is none
	seed      uint64
}

// write writes the files of a failure. What can't be read or written does not keep it from the rest.
func (f failure) write(ctx context.Context, directory string) error {
	var errs []error
	file := func(name string, content []byte, err error) {
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, name), content, 0o644)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	kinds := append(slices.Clone(f.kinds), corev1.SchemeGroupVersion.WithKind("Pod"), eventsv1.SchemeGroupVersion.WithKind("Event"))
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	for _, kind := range slices.Compact(kinds) {
		content, err := f.dump(ctx, kind)
		file(strings.ToLower(kind.Kind)+"s.yaml", content, err)
	}
	file("seed.txt", fmt.Appendf(nil, "%s=%d\n", seedVariable, f.seed), nil)
	file("timeline.txt", []byte(timeline(f.versions)), nil)
	for replica, path := range f.logs {
		content, err := os.ReadFile(path)
		file(replica+".log", content, err)
	}
	if f.audit != nil {
		events, err := f.audit.Since(audit.Mark{}, audit.Writes, audit.InNamespace(f.namespace))
		file("writes.txt", []byte(audit.Describe(events)), err)
	}
	return errors.Join(errs...)
}

func (f failure) dump(ctx context.Context, kind schema.GroupVersionKind) ([]byte, error) {
	list := watch.ListOf(kind)
	if err := f.client.List(ctx, list, client.InNamespace(f.namespace)); err != nil {
		return nil, err
	}
	return yaml.Marshal(list)
}

// timeline renders a history, one version a line, with the conditions of what has any.
func timeline(versions []record.Version) string {
	var b strings.Builder
	for _, v := range versions {
		what := "stored"
		if v.Deleted {
			what = "deleted"
		}
		fmt.Fprintf(&b, "%s revision %d %s %s %s", v.Seen.UTC().Format("15:04:05.000"), v.Revision, v.Object.GetKind(), v.Object.GetName(), what)
		conditions, err := ConditionsOf(v.Object)
		if err != nil {
			fmt.Fprintf(&b, " (%v)", err)
		}
		for _, c := range conditions {
			fmt.Fprintf(&b, " %s=%s/%s", c.Type, c.Status, c.Reason)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
