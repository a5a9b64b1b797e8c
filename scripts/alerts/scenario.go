package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/storage"
)

const (
	// interval is the time between two scrapes, as the Prometheus operator configures it by default.
	interval = 30 * time.Second
	// lasts is how long a scenario lasts: longer than any alert waits.
	lasts = 2 * time.Hour
)

// start is when a scenario starts.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Scenario is what Prometheus finds when it scrapes an installation. Its scrapes are taken one interval apart. From then on, gauges stay
// as they are, and counters grow again and again as they grew from the last scrape but one to the last.
type Scenario struct {
	Name string `json:"name"`
	// Every is how long it takes until the counters grow again.
	Every Duration `json:"every"`
	// Targets have equally many scrapes, at least two.
	Targets []Target `json:"targets"`
}

// Target is an address that Prometheus scrapes.
type Target struct {
	// Labels are those that the Prometheus operator gives to a target of a ServiceMonitor.
	Labels  map[string]string `json:"labels"`
	Scrapes []Scrape          `json:"scrapes"`
}

// Scrape is the result of one scrape: the text, or why there is none.
type Scrape struct {
	// Text is in Prometheus' text format.
	Text string `json:"text,omitempty"`
	// Down says that the target does not answer, and Gone that there is no such target.
	Down bool `json:"down,omitempty"`
	Gone bool `json:"gone,omitempty"`
}

// Duration is a duration such as "30s".
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(content []byte) error {
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}

// Endpoint is what an endpoint of a ServiceMonitor says about labels.
type Endpoint struct {
	HonorLabels       bool         `json:"honorLabels"`
	Relabelings       []Relabeling `json:"relabelings"`
	MetricRelabelings []Relabeling `json:"metricRelabelings"`
}

// Relabeling is a relabeling of a ServiceMonitor, which spells the fields of Prometheus' configuration in another way.
type Relabeling struct {
	SourceLabels model.LabelNames `json:"sourceLabels"`
	Separator    *string          `json:"separator"`
	TargetLabel  string           `json:"targetLabel"`
	Regex        string           `json:"regex"`
	Modulus      uint64           `json:"modulus"`
	Replacement  *string          `json:"replacement"`
	Action       string           `json:"action"`
}

// configs returns relabelings as Prometheus has them.
func configs(relabelings []Relabeling) ([]*relabel.Config, error) {
	var converted []*relabel.Config
	for _, r := range relabelings {
		config := relabel.DefaultRelabelConfig
		config.SourceLabels, config.TargetLabel, config.Modulus = r.SourceLabels, r.TargetLabel, r.Modulus
		if r.Separator != nil {
			config.Separator = *r.Separator
		}
		if r.Replacement != nil {
			config.Replacement = *r.Replacement
		}
		if r.Action != "" {
			config.Action = relabel.Action(r.Action)
		}
		if r.Regex != "" {
			regex, err := relabel.NewRegexp(r.Regex)
			if err != nil {
				return nil, err
			}
			config.Regex = regex
		}
		if err := config.Validate(model.UTF8Validation); err != nil {
			return nil, err
		}
		converted = append(converted, &config)
	}
	return converted, nil
}

// store returns the samples of the scenario, as Prometheus stores them.
func (s Scenario) store(endpoint Endpoint) (storage.Queryable, error) {
	relabelings, err1 := configs(endpoint.Relabelings)
	metricRelabelings, err2 := configs(endpoint.MetricRelabelings)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	stored := samples{}
	for _, target := range s.Targets {
		if len(target.Scrapes) < 2 || len(target.Scrapes) != len(s.Targets[0].Scrapes) {
			return nil, fmt.Errorf("the target %v has %d scrapes: want at least two, and as many of each target", target.Labels, len(target.Scrapes))
		}
		builder := labels.NewBuilder(labels.FromMap(target.Labels))
		if !relabel.ProcessBuilder(builder, relabelings...) {
			continue
		}
		identity := builder.Labels()
		var scrapes []scrape
		for i, scraped := range target.Scrapes {
			parsed, err := parse(scraped, identity, endpoint.HonorLabels, metricRelabelings)
			if err != nil {
				return nil, fmt.Errorf("scrape %d of the target %v: %w", i, target.Labels, err)
			}
			scrapes = append(scrapes, parsed)
		}
		s.stretch(scrapes, stored)
	}
	return stored.queryable(), nil
}

// stretch adds the samples of a target to those that are stored.
func (s Scenario) stretch(scrapes []scrape, stored samples) {
	last, before := scrapes[len(scrapes)-1], scrapes[len(scrapes)-2]
	var previous scrape
	for step := 0; time.Duration(step)*interval < lasts; step++ {
		at := start.Add(time.Duration(step) * interval)
		current := last
		if step < len(scrapes) {
			current = scrapes[step]
		} else if s.Every > 0 {
			passed := time.Duration(step-len(scrapes)+1) * interval
			current = last.grown(before, int(passed/time.Duration(s.Every)))
		}
		stored.add(at, current, previous)
		previous = current
	}
}

// scrape holds the values of a scrape by their series, which a string identifies.
type scrape map[string]sample

type sample struct {
	labels  labels.Labels
	value   float64
	counter bool // it grows, unless its program starts again
}

// grown returns the scrape after all that has grown since an earlier one has done so a number of times more.
func (s scrape) grown(since scrape, times int) scrape {
	result := make(scrape, len(s))
	for series, sample := range s {
		if old, found := since[series]; found && sample.counter && sample.value > old.value {
			sample.value += float64(times) * (sample.value - old.value)
		}
		result[series] = sample
	}
	return result
}

// parse returns the values of a scrape, with the one that Prometheus adds.
func parse(scraped Scrape, target labels.Labels, honor bool, relabelings []*relabel.Config) (scrape, error) {
	if scraped.Gone {
		return scrape{}, nil
	}
	parsed := scrape{}
	up := labels.NewBuilder(target).Set(labels.MetricName, "up").Labels()
	parsed[up.String()] = sample{labels: up}
	if scraped.Down {
		return parsed, nil
	}
	parsed[up.String()] = sample{labels: up, value: 1}
	text, err := textparse.New([]byte(scraped.Text), "text/plain; version=0.0.4", labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return nil, err
	}
	types := map[string]model.MetricType{}
	for {
		entry, err := text.Next()
		switch {
		case errors.Is(err, io.EOF) && len(parsed) == 1:
			return nil, errors.New("there are no metrics")
		case errors.Is(err, io.EOF):
			return parsed, nil
		case err != nil:
			return nil, err
		}
		switch entry {
		case textparse.EntryType:
			name, kind := text.Type()
			types[string(name)] = kind
		case textparse.EntrySeries:
			_, _, number := text.Series()
			var exposed labels.Labels
			text.Labels(&exposed)
			builder := withTarget(exposed, target, honor)
			if !relabel.ProcessBuilder(builder, relabelings...) {
				continue
			}
			series := builder.Labels()
			parsed[series.String()] = sample{labels: series, value: number, counter: isCounter(exposed.Get(labels.MetricName), types)}
		}
	}
}

// isCounter reports whether a series grows: a counter, or the parts of a histogram or a summary.
func isCounter(name string, types map[string]model.MetricType) bool {
	if types[name] == model.MetricTypeCounter {
		return true
	}
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if base := len(name) - len(suffix); base > 0 && name[base:] == suffix {
			kind := types[name[:base]]
			return kind == model.MetricTypeHistogram || kind == model.MetricTypeSummary
		}
	}
	return false
}

// withTarget returns the labels of a series with those of its target. Where both have one, the target's wins unless those of the series
// are honored, and the other is kept with a prefix.
func withTarget(exposed, target labels.Labels, honor bool) *labels.Builder {
	builder := labels.NewBuilder(exposed)
	target.Range(func(l labels.Label) {
		switch {
		case !exposed.Has(l.Name):
			builder.Set(l.Name, l.Value)
		case !honor:
			builder.Set(model.ExportedLabelPrefix+l.Name, exposed.Get(l.Name))
			builder.Set(l.Name, l.Value)
		}
	})
	return builder
}
