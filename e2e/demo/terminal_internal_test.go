package demo

import "testing"

func TestSuit(t *testing.T) {
	for _, test := range []struct {
		name     string
		terminal bool
		env      map[string]string
		style    Style
		live     bool
	}{
		{"a terminal of today", true, map[string]string{"TERM": "xterm-256color"}, Style{Color: true}, true},
		{"a pipe", false, map[string]string{"TERM": "xterm-256color"}, Style{}, false},
		{"no colors wanted", true, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, Style{}, true},
		{"an empty NO_COLOR asks for nothing", true, map[string]string{"TERM": "xterm", "NO_COLOR": ""}, Style{Color: true}, true},
		{"Emacs' shell", true, map[string]string{"TERM": "dumb"}, Style{}, false},
		{"TERM not set", true, nil, Style{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			style, live := suit(test.terminal, func(name string) string { return test.env[name] })
			if style != test.style || live != test.live {
				t.Errorf("suit = %+v, live %v; want %+v, live %v", style, live, test.style, test.live)
			}
		})
	}
}
