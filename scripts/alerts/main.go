// Command alerts says which alerts of a PrometheusRule fire, given scrapes of an installation. It does not wait: it repeats the scrapes
// for hours of simulated time, and evaluates the rules as Prometheus does, with Prometheus' own parser and engine.
//
// It reads a [Request] as JSON from its standard input, and writes a list of [Outcome]s to its standard output.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Request is what the command reads.
type Request struct {
	// Rules is the spec of a PrometheusRule, which is what a file of rules contains.
	Rules json.RawMessage `json:"rules"`
	// Endpoint is the endpoint of a ServiceMonitor: what it says about labels.
	Endpoint Endpoint `json:"endpoint"`
	// Scenarios are evaluated one by one.
	Scenarios []Scenario `json:"scenarios"`
}

// Outcome says which alerts have fired in a scenario.
type Outcome struct {
	Scenario string  `json:"scenario"`
	Fired    []Fired `json:"fired"`
}

// Fired is an alert that has fired.
type Fired struct {
	Alert       string            `json:"alert"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	// After is the time from the first scrape until it fired.
	After string `json:"after"`
}

func main() {
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "alerts: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	content, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var request Request
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	outcomes := make([]Outcome, len(request.Scenarios))
	for i, scenario := range request.Scenarios {
		// Rules keep the state of their alerts, so each scenario has its own.
		rules, err := parseRules(request.Rules)
		if err != nil {
			return err
		}
		stored, err := scenario.store(request.Endpoint)
		if err != nil {
			return fmt.Errorf("scenario %q: %w", scenario.Name, err)
		}
		fired, err := evaluate(ctx, rules, stored)
		if err != nil {
			return fmt.Errorf("scenario %q: %w", scenario.Name, err)
		}
		outcomes[i] = Outcome{Scenario: scenario.Name, Fired: fired}
	}
	return json.NewEncoder(out).Encode(outcomes)
}
