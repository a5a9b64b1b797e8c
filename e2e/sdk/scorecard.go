package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Result is what one of scorecard's tests has found.
type Result struct {
	Suite, Test string
	// Passed reports whether the test has passed. If it has not, Errors say why, and Suggestions how to fix it.
	Passed              bool
	Errors, Suggestions []string
}

// configuration is the part of a bundle that says which tests scorecard runs.
type configuration struct {
	Stages []struct {
		Tests []struct {
			Entrypoint []string
			Labels     struct{ Suite, Test string }
		}
	}
}

// Scorecard runs the tests that the scorecard configuration of a bundle names, each as a process on this machine. `operator-sdk
// scorecard` runs the same program in a pod. Only the built-in tests can be run in this way, because custom tests are images.
//
// The program reads the bundle from /bundle, so it runs with a temporary directory as its root: see runInRoot.
func (tools Tools) Scorecard(ctx context.Context, bundle string) (results []Result, err error) {
	text, err := os.ReadFile(filepath.Join(bundle, "tests", "scorecard", "config.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no tests/scorecard/config.yaml: make bundle writes one from config/scorecard", bundle)
	}
	if err != nil {
		return nil, err
	}
	var config configuration
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("read the scorecard configuration of %s: %w", bundle, err)
	}
	root, err := os.MkdirTemp("", "scorecard-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	if err := errors.Join(
		os.CopyFS(filepath.Join(root, "bundle"), os.DirFS(bundle)),
		os.Mkdir(filepath.Join(root, "tmp"), 0o700),
		copyFile(tools.Path(ScorecardTest), filepath.Join(root, ScorecardTest)),
	); err != nil {
		return nil, err
	}
	for _, stage := range config.Stages {
		for _, test := range stage.Tests {
			if len(test.Entrypoint) != 2 || test.Entrypoint[0] != ScorecardTest {
				return nil, fmt.Errorf("the test %s runs %q, which is not built in: it can only run in a pod", test.Labels.Test, strings.Join(test.Entrypoint, " "))
			}
			result, err := scorecardTest(ctx, root, test.Entrypoint[1])
			if err != nil {
				return nil, err
			}
			result.Suite, result.Test = test.Labels.Suite, test.Entrypoint[1]
			results = append(results, result)
		}
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("the scorecard configuration of %s names no test", bundle)
	}
	return results, nil
}

// scorecardTest runs a built-in test in a root directory.
func scorecardTest(ctx context.Context, root, test string) (Result, error) {
	printed, err := runInRoot(ctx, root, "/"+ScorecardTest, test)
	if err != nil {
		return Result{}, fmt.Errorf("%s %s: %w", ScorecardTest, test, err)
	}
	var status struct {
		Results []struct {
			State               string
			Errors, Suggestions []string
		}
	}
	if err := json.Unmarshal(printed, &status); err != nil {
		return Result{}, fmt.Errorf("%s %s printed %q: %w", ScorecardTest, test, printed, err)
	}
	result := Result{Passed: len(status.Results) > 0}
	for _, r := range status.Results {
		result.Passed = result.Passed && r.State == "pass"
		result.Errors = append(result.Errors, r.Errors...)
		result.Suggestions = append(result.Suggestions, r.Suggestions...)
	}
	return result, nil
}

func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	_, err = io.Copy(target, source)
	return err
}
