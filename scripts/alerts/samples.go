package main

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// samples are all samples of all series, by what identifies a series.
type samples map[string]*promql.Series

// add adds a scrape. What has disappeared since the previous scrape of the same target is marked as stale.
func (s samples) add(at time.Time, current, previous scrape) {
	record := func(id string, of labels.Labels, number float64) {
		if s[id] == nil {
			s[id] = &promql.Series{Metric: of}
		}
		s[id].Floats = append(s[id].Floats, promql.FPoint{T: at.UnixMilli(), F: number})
	}
	for id, sample := range current {
		record(id, sample.labels, sample.value)
	}
	for id, sample := range previous {
		if _, found := current[id]; !found {
			record(id, sample.labels, math.Float64frombits(value.StaleNaN))
		}
	}
}

// queryable returns what Prometheus' engine reads.
func (s samples) queryable() storage.Queryable {
	byName := map[string][]*promql.Series{}
	for _, series := range s {
		name := series.Metric.Get(labels.MetricName)
		byName[name] = append(byName[name], series)
	}
	return &storage.MockQueryable{MockQuerier: &storage.MockQuerier{
		SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
			var found []*promql.Series
			for name, all := range byName {
				if differs(matchers, func(label string) (string, bool) { return name, label == labels.MetricName }) {
					continue
				}
				for _, series := range all {
					if !differs(matchers, func(label string) (string, bool) { return series.Metric.Get(label), true }) {
						found = append(found, series)
					}
				}
			}
			slices.SortFunc(found, func(a, b *promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
			return &seriesSet{series: found}
		},
	}}
}

// differs reports whether one of the matchers does not match. of returns the value of a label, and whether it is known.
func differs(matchers []*labels.Matcher, of func(label string) (string, bool)) bool {
	return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
		text, known := of(m.Name)
		return known && !m.Matches(text)
	})
}

// seriesSet implements storage.SeriesSet.
type seriesSet struct {
	series  []*promql.Series
	current *promql.Series
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	if len(s.series) == 0 {
		return false
	}
	s.current, s.series = s.series[0], s.series[1:]
	return true
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return promql.NewStorageSeries(*s.current) }

// Err implements storage.SeriesSet.
func (*seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*seriesSet) Warnings() annotations.Annotations { return nil }
