package learn

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/example/operator-testbed/tutorial/internal/chapter"
)

// mostLog is how many lines of the operator's log are shown.
const mostLog = 60

// ready matches what the testbed's command line prints when the operator is ready, and compiling what it prints before it compiles.
var (
	ready     = regexp.MustCompile(`^the (finished operator .*|operator of .*) is ready[;,]`)
	compiling = regexp.MustCompile(`^compiling the `)
)

// run runs the operator of a request, until halt or until the cluster is gone. The lock is held.
func (m *model) run(r request) error {
	c := m.chosen(r)
	if !slices.Contains(c.Runs, chapter.RunsProcess) {
		return notNow("%s has no operator to run on this machine", c.Name)
	}
	dir, source := c.OperatorDirectory(), FromChapter
	switch {
	case m.hasCopy(r):
		dir, source = m.dir, FromCopy
	case c.Operator != "":
		source = FromFinished
	}
	ctx, halt := context.WithCancelCause(m.life)
	m.halt, m.operator = halt, Operator{State: Building, Source: source, Message: "compiling " + dir}
	m.working.Go(func() {
		said := lastLines{most: 20}
		err := m.Testbed(ctx, &lines{each: m.logged}, &lines{each: func(line string) {
			if line = strings.TrimPrefix(line, "testbed: "); !ready.MatchString(line) && !compiling.MatchString(line) {
				said.add(line)
			}
			m.said(line)
		}}, "--name="+m.ClusterName, "run", "--operator="+dir)
		m.update(func() {
			m.halt = nil
			switch {
			case context.Cause(ctx) != nil:
				m.operator.State, m.operator.Message = Stopped, ""
			case err == nil: // the cluster is gone
				m.operator.State, m.operator.Message = Stopped, said.String()
			default:
				m.operator.State, m.operator.Message = Exited, short(said.String())
				if len(said.lines) == 0 {
					m.operator.Message = short(err.Error())
				}
			}
		})
		halt(nil)
	})
	return nil
}

// logged shows a line of the operator's log.
func (m *model) logged(line string) {
	m.update(func() {
		m.operator.Log = append(m.operator.Log, short(line))
		if len(m.operator.Log) > mostLog {
			m.operator.Log = slices.Clone(m.operator.Log[len(m.operator.Log)-mostLog:])
		}
	})
}

// said shows what the testbed says about the operator.
func (m *model) said(line string) {
	m.update(func() {
		if ready.MatchString(line) {
			m.operator.State, m.operator.Message = Running, ""
		} else {
			m.operator.Message = short(line)
		}
	})
}

// lines calls each for every line that is written.
type lines struct {
	each func(string)
	rest []byte
}

// mostOfALine is how much of a line is kept that does not end.
const mostOfALine = 64 << 10

func (l *lines) Write(text []byte) (int, error) {
	l.rest = append(l.rest, text...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole && len(line) < mostOfALine {
			return len(text), nil
		}
		// What a terminal overwrites is not shown.
		if i := bytes.LastIndexByte(bytes.TrimRight(line, "\r"), '\r'); i >= 0 {
			line = line[i+1:]
		}
		l.each(strings.ToValidUTF8(strings.TrimRight(string(line), "\r"), "�"))
		l.rest = bytes.Clone(rest)
	}
}

// lastLines are the last lines of many.
type lastLines struct {
	most  int
	lines []string
}

func (l *lastLines) add(line string) {
	if l.lines = append(l.lines, strings.TrimPrefix(line, "testbed: ")); len(l.lines) > l.most {
		l.lines = slices.Clone(l.lines[1:])
	}
}

func (l *lastLines) String() string { return strings.TrimSpace(strings.Join(l.lines, "\n")) }
