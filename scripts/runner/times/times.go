// Package times says how long commands take. It is the only place that does: everything else prints what it returns, or a table that is
// generated from it. The numbers are in measured.json, each with the time when it was measured.
package times

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Row is how long a command takes on two cores.
type Row struct {
	// Command is what is typed.
	Command string `json:"command"`
	// Warm is the least and the most, in seconds, when everything is compiled. It is empty where nothing was measured.
	Warm []int `json:"warm"`
	// First is the same for the first time, where that differs.
	First []int `json:"first"`
	// Because says what takes the time.
	Because string `json:"because"`
	// When says when it was measured, and what is special about that.
	When string `json:"when"`
}

//go:embed measured.json
var measured []byte

// Rows returns all rows.
func Rows() []Row {
	rows, err := parse(measured)
	if err != nil {
		panic(err) // a test reads it
	}
	return rows
}

func parse(text []byte) ([]Row, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	var rows []Row
	if err := decoder.Decode(&rows); err != nil {
		return nil, fmt.Errorf("read measured.json: %w", err)
	}
	for _, row := range rows {
		for _, seconds := range [][]int{row.Warm, row.First} {
			if n := len(seconds); n != 0 && (n != 2 || seconds[0] <= 0 || seconds[1] < seconds[0]) {
				return nil, fmt.Errorf("read measured.json: %s takes %v: give the least and the most, in seconds", row.Command, seconds)
			}
		}
		if row.Command == "" || row.Because == "" || row.When == "" && len(row.Warm) > 0 {
			return nil, fmt.Errorf("read measured.json: %+v needs a command, a reason, and when it was measured", row)
		}
	}
	return rows, nil
}

// find returns the row of a command, which is empty if there is none.
func find(command string) Row {
	for _, row := range Rows() {
		if row.Command == command {
			return row
		}
	}
	return Row{}
}

const unknown = "not measured yet"

// Takes is how long the command takes when everything is compiled.
func (r Row) Takes() string { return text(r.Warm) }

// FirstTakes is how long it takes the first time, which may be no longer.
func (r Row) FirstTakes() string {
	if len(r.First) == 0 {
		return text(r.Warm)
	}
	return text(r.First)
}

// text writes a range of seconds as people say it: in minutes or hours, as soon as they are whole enough.
func text(seconds []int) string {
	if len(seconds) == 0 {
		return unknown
	}
	unit, size := "second", 1.0
	switch most := seconds[1]; {
	case most >= 2*60*60:
		unit, size = "hour", 60*60
	case most > 90:
		unit, size = "minute", 60
	}
	least, most := int(math.Round(float64(seconds[0])/size)), int(math.Round(float64(seconds[1])/size))
	switch {
	case least == most && most == 1:
		return "1 " + unit
	case least == most:
		return fmt.Sprintf("%d %ss", most, unit)
	default:
		return fmt.Sprintf("%d to %d %ss", least, most, unit)
	}
}

// Sentence says how long a command takes. It is empty where that was not measured.
func Sentence(command string) string {
	row := find(command)
	switch {
	case len(row.Warm) == 0:
		return ""
	case len(row.First) == 0:
		return fmt.Sprintf("It takes %s on 2 cores.", row.Takes())
	default:
		return fmt.Sprintf("It takes %s on 2 cores, and %s the first time, when everything is compiled.", row.Takes(), row.FirstTakes())
	}
}

// Table is a Markdown table of all rows.
func Table() string {
	var b strings.Builder
	b.WriteString("| command | takes | the first time | because | measured |\n|---|---|---|---|---|\n")
	for _, r := range Rows() {
		when := r.When
		if len(r.Warm) == 0 {
			when = "—"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Command, r.Takes(), r.FirstTakes(), r.Because, when)
	}
	return b.String()
}

// Short is a Markdown table of the commands, without more.
func Short(commands ...string) string {
	var b strings.Builder
	b.WriteString("| command | takes | the first time |\n|---|---|---|\n")
	for _, command := range commands {
		r := find(command)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", command, r.Takes(), r.FirstTakes())
	}
	return b.String()
}
