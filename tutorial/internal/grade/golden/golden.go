// Package golden compares what tests make with files in their directories testdata, and with tables in pages.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Compare fails the test unless got is what the file of that name has. With -update, it writes the file first.
func Compare(t testing.TB, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

// tableEnds is the line behind a table in a page.
const tableEnds = "<!-- The end of the table. -->\n"

// Section fails the test unless a page has the table behind a line that says where it is from. With -update, it writes the table first.
func Section(t testing.TB, page, from, table string) {
	t.Helper()
	begins := "<!-- The table is " + from + " -->\n"
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begins)
	present, after, ends := strings.Cut(rest, tableEnds)
	if !found || !ends {
		t.Fatalf("%s has no place for the table: it needs these two lines\n%s%s", page, begins, tableEnds)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begins+table+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		present = table
	}
	if diff := cmp.Diff(table, present); diff != "" {
		t.Errorf("%s: go test -update writes the table: %s", page, diff)
	}
}
