package learn

import (
	"context"
	"os"

	"github.com/fsnotify/fsnotify"

	"github.com/example/operator-testbed/tutorial/internal/progress"
)

// readProgress reads how far the learner is.
func (m *model) readProgress() error {
	p, err := m.Progress()
	if len(p.Chapters) == 0 { // what is left of a file with a broken line is true
		return err
	}
	titles := map[string]string{}
	for _, c := range m.chapters {
		titles[c.Name] = c.Title
	}
	for _, f := range m.faults {
		titles[f.Name] = f.Symptom
	}
	all := []Progress{}
	add := func(kind string, entries []progress.Entry) {
		for _, e := range entries {
			all = append(all, Progress{Name: e.Name, Title: titles[e.Name], Kind: kind, Done: e.Done, Passed: e.Last.Passed, Of: e.Last.Of})
		}
	}
	add(KindChapter, p.Chapters)
	add(KindLab, p.Labs)
	m.update(func() { m.progress = all })
	return nil
}

// next returns the first chapter that is not done; the first one if all are.
func (m *model) next() string {
	for _, p := range m.progress {
		if p.Kind == KindChapter && !p.Done {
			return p.Name
		}
	}
	return m.chapters[0].Name
}

// followProgress reads it again whenever a file beside the events changes, as after a make check in a terminal, until ctx ends.
func (m *model) followProgress(ctx context.Context) error {
	if m.ProgressDir == "" {
		return nil
	}
	if err := os.MkdirAll(m.ProgressDir, 0o755); err != nil {
		return err
	}
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer files.Close()
	if err := files.Add(m.ProgressDir); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-files.Events:
		case <-files.Errors: //nolint:errcheck // whichever it is, an event was lost, so something has changed
		}
		_ = m.readProgress() // what can't be read now is read after the next event
	}
}
