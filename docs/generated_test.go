package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is generated of the documentation")

const tableEnds = "<!-- The end of the table. -->\n"

// generated compares the table in a page with the one that it is generated from, or writes it with -update.
func generated(t *testing.T, page, from, table string) {
	t.Helper()
	begins := fmt.Sprintf("<!-- The table is generated from %s: go test ./docs -update -->\n", from)
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begins)
	present, after, ends := strings.Cut(rest, tableEnds)
	if !found || !ends {
		t.Fatalf("%s has no place for the table: it needs these two lines\n%s%s", path.Join("docs", page), begins, tableEnds)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begins+table+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if present != table {
		t.Errorf("the table in %s is not the one of %s: write it with go test ./docs -update; it should be\n%s", path.Join("docs", page), from, table)
	}
}
