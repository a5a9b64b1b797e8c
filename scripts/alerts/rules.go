package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
)

// The limits of one query, as Prometheus has them by default.
const (
	maxSamples   = 50_000_000
	queryTimeout = 2 * time.Minute
)

var (
	syntax = parser.NewParser(parser.Options{})
	silent = slog.New(slog.DiscardHandler)
)

// parseRules reads the alerts of a file of rules. JSON is YAML.
func parseRules(content []byte) ([]*rules.AlertingRule, error) {
	file, errs := rulefmt.Parse(content, false, model.UTF8Validation, syntax, silent)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var parsed []*rules.AlertingRule
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			expression, err := syntax.ParseExpr(rule.Expr)
			if err != nil {
				return nil, err
			}
			parsed = append(parsed, rules.NewAlertingRule(rule.Alert, expression, time.Duration(rule.For), time.Duration(rule.KeepFiringFor),
				labels.FromMap(rule.Labels), labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", true, silent))
		}
	}
	if len(parsed) == 0 {
		return nil, errors.New("there are no alerts")
	}
	return parsed, nil
}

// evaluate returns the alerts that fire at any time while the samples last, in the order in which they do.
func evaluate(ctx context.Context, alerts []*rules.AlertingRule, samples storage.Queryable) ([]Fired, error) {
	engine := promql.NewEngine(promql.EngineOpts{
		Logger: silent, MaxSamples: maxSamples, Timeout: queryTimeout, Parser: syntax, EnableAtModifier: true, EnableNegativeOffset: true,
	})
	query := rules.EngineQueryFunc(engine, samples)
	fired := []Fired{}
	seen := map[string]bool{}
	// Rules are evaluated as often as targets are scraped, but not at the same instant.
	for at := start.Add(interval / 2); at.Before(start.Add(lasts)); at = at.Add(interval) {
		for _, alert := range alerts {
			if _, err := alert.Eval(ctx, 0, at, query, nil, 0); err != nil {
				return nil, err
			}
			for _, active := range alert.ActiveAlerts() {
				if active.State != rules.StateFiring || seen[active.Labels.String()] {
					continue
				}
				seen[active.Labels.String()] = true
				fired = append(fired, Fired{
					Alert: alert.Name(), Labels: active.Labels.Map(), Annotations: active.Annotations.Map(), After: at.Sub(start).String(),
				})
			}
		}
	}
	return fired, nil
}
