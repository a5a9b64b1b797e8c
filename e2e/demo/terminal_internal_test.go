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
		{"a terminal of today", true, map[string]string{"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}, Style{Color: true, Unicode: true}, true},
		{"a pipe", false, map[string]string{"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}, Style{Unicode: true}, false},
		{"no colors wanted", true, map[string]string{"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}, Style{Unicode: true}, true},
		{"an empty NO_COLOR asks for nothing", true, map[string]string{"TERM": "xterm", "NO_COLOR": ""}, Style{Color: true}, true},
		{"Emacs' shell", true, map[string]string{"TERM": "dumb", "LANG": "C.UTF-8"}, Style{Unicode: true}, false},
		{"TERM not set", true, nil, Style{}, false},
		{"LC_ALL prevails", true, map[string]string{"TERM": "xterm", "LC_ALL": "C", "LANG": "en_GB.UTF-8"}, Style{Color: true}, true},
		{"LC_CTYPE before LANG", true, map[string]string{"TERM": "xterm", "LC_CTYPE": "de_DE.utf8", "LANG": "C"}, Style{Color: true, Unicode: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			style, live := suit(test.terminal, func(name string) string { return test.env[name] })
			if style != test.style || live != test.live {
				t.Errorf("suit = %+v, live %v; want %+v, live %v", style, live, test.style, test.live)
			}
		})
	}
}
