package kind

import (
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/kind/pkg/log"
)

// logger writes the messages of kind's library to progress.
type logger struct{ progress io.Writer }

// Warn shows a message, like the other methods.
func (l logger) Warn(message string) { l.Info(message) }

// Warnf shows a message.
func (l logger) Warnf(format string, args ...any) { l.Infof(format, args...) }

// Error shows a message.
func (l logger) Error(message string) { l.Info(message) }

// Errorf shows a message.
func (l logger) Errorf(format string, args ...any) { l.Infof(format, args...) }

// V returns what shows messages up to a level.
func (l logger) V(level log.Level) log.InfoLogger {
	if level > 0 {
		return log.NoopInfoLogger{}
	}
	return l
}

// Info shows a message.
func (l logger) Info(message string) { fmt.Fprintln(l.progress, strings.TrimSpace(message)) }

// Infof shows a message.
func (l logger) Infof(format string, args ...any) { l.Info(fmt.Sprintf(format, args...)) }

// Enabled says that messages are shown.
func (logger) Enabled() bool { return true }
