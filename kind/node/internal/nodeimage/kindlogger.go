package nodeimage

import (
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/kind/pkg/log"
)

// kindLogger makes progress of what kind's library tells, and keeps its
// complaints for when it fails.
type kindLogger struct {
	detail func(string)

	mu         sync.Mutex
	complaints []string
}

func (l *kindLogger) complain(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.complaints = append(l.complaints, strings.TrimSpace(message))
}

// Warn is part of kind's log.Logger, like the other methods.
func (l *kindLogger) Warn(message string) { l.complain(message) }

// Warnf is Warn with a format.
func (l *kindLogger) Warnf(format string, args ...any) { l.complain(fmt.Sprintf(format, args...)) }

// Error keeps a message.
func (l *kindLogger) Error(message string) { l.complain(message) }

// Errorf is Error with a format.
func (l *kindLogger) Errorf(format string, args ...any) { l.complain(fmt.Sprintf(format, args...)) }

// V returns what shows messages up to a level.
func (l *kindLogger) V(level log.Level) log.InfoLogger {
	if level > 0 {
		return log.NoopInfoLogger{}
	}
	return infoLogger{l.detail}
}

// explain is the library's error with its last complaint.
func (l *kindLogger) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.complaints) == 0 {
		return fmt.Errorf("kind could not make the node image: %w", err)
	}
	return fmt.Errorf("kind could not make the node image: %w (%s)", err, l.complaints[len(l.complaints)-1])
}

type infoLogger struct{ detail func(string) }

// Info shows a message, like the other methods.
func (l infoLogger) Info(message string) { l.detail(strings.TrimSpace(message)) }

// Infof is Info with a format.
func (l infoLogger) Infof(format string, args ...any) { l.Info(fmt.Sprintf(format, args...)) }

// Enabled says that messages are shown.
func (infoLogger) Enabled() bool { return true }
