package process

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseLine reads a line of ps with the columns pid, ppid, pgid, stat, time and args, as macOS prints it: "7 1 7 S 0:01.50 /bin/a b".
func parseLine(line string) (Info, error) {
	var p Info
	rest := line
	next := func() string {
		rest = strings.TrimLeft(rest, " ")
		word, after, _ := strings.Cut(rest, " ")
		rest = after
		return word
	}
	for _, to := range []*int{&p.PID, &p.Parent, &p.Group} {
		number, err := strconv.Atoi(next())
		if err != nil {
			return Info{}, fmt.Errorf("unknown format of a line of ps %q: %w", line, err)
		}
		*to = number
	}
	p.Exited = strings.HasPrefix(next(), "Z")
	cpu, err := parseTime(next())
	if err != nil {
		return Info{}, fmt.Errorf("unknown format of a line of ps %q: %w", line, err)
	}
	p.CPU = cpu
	p.Arguments = strings.TrimSpace(rest)
	first, _, _ := strings.Cut(p.Arguments, " ")
	p.Name = base(first)
	return p, nil
}

// parseTime reads a processor time such as 1:02.50 or 1-10:01:02.
func parseTime(text string) (time.Duration, error) {
	days, clock, found := strings.Cut(text, "-")
	if !found {
		days, clock = "0", text
	}
	number, err := strconv.Atoi(days)
	if err != nil {
		return 0, err
	}
	var ofDay time.Duration
	for part := range strings.SplitSeq(clock, ":") {
		seconds, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0, err
		}
		ofDay = ofDay*60 + time.Duration(seconds*float64(time.Second))
	}
	return time.Duration(number)*24*time.Hour + ofDay, nil
}
