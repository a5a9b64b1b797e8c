package bench

import "testing"

func TestSumResident(t *testing.T) {
	for name, test := range map[string]struct {
		listing string
		count   int
		want    float64
		err     string
	}{
		"Linux":             {"102400\n  2048\n   512\n", 3, 102.5, ""},
		"macOS":             {" 102400\n   2048\n", 2, 102, ""},
		"a process is gone": {"102400\n", 2, 0, "ps knows 1 of 2 processes"},
		"not a number":      {"?\n", 1, 0, `ps printed "?", expected a number of KiB`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sumResident(test.listing, test.count)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if got != test.want || said != test.err {
				t.Errorf("sumResident(%q, %d) = %v, %q; want %v, %q", test.listing, test.count, got, said, test.want, test.err)
			}
		})
	}
}
