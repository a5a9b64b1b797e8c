package release

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulncheck runs make vulncheck on a program, with a database in which two functions are vulnerable. The program calls one of
// them.
func TestVulncheck(t *testing.T) {
	database, program := t.TempDir(), t.TempDir()
	write(t, database, map[string]any{
		"index/db.json":        map[string]any{"modified": "2026-01-01T00:00:00Z"},
		"index/modules.json":   []any{map[string]any{"path": "stdlib", "vulns": []any{listed("GO-2026-0001"), listed("GO-2026-0002")}}},
		"ID/GO-2026-0001.json": vulnerable("GO-2026-0001", "Clone"),
		"ID/GO-2026-0002.json": vulnerable("GO-2026-0002", "ToTitle"),
		"index/vulns.json":     []any{listed("GO-2026-0001"), listed("GO-2026-0002")},
	})
	check := func(code string) (string, error) {
		write(t, program, map[string]any{"go.mod": "module example.com/program\n\ngo 1.26\n", "main.go": code})
		command := exec.Command("make", "-s", "vulncheck", "DB=file://"+filepath.ToSlash(database), "ARGS=-C="+program+" ./...")
		command.Dir = filepath.Join("..", "..")
		out, err := command.CombinedOutput()
		return string(out), err
	}
	said, err := check("package main\n\nimport \"strings\"\n\nfunc main() { println(strings.Clone(\"x\")) }\n")
	if err == nil || !strings.Contains(said, "GO-2026-0001") || strings.Contains(said, "#2: GO-2026-0002") {
		t.Errorf("a program that calls a vulnerable function: %v\n%s", err, said)
	}
	if said, err := check("package main\n\nimport \"strings\"\n\nfunc main() { println(strings.ToLower(\"x\")) }\n"); err != nil {
		t.Errorf("a program that calls none: %v\n%s", err, said)
	}
}

// vulnerable is an entry of a database, in the format of osv.dev.
func vulnerable(id, symbol string) any {
	return map[string]any{
		"schema_version": "1.3.1", "id": id, "modified": "2026-01-01T00:00:00Z", "published": "2026-01-01T00:00:00Z", "summary": "A test",
		"affected": []any{map[string]any{
			"package":            map[string]any{"name": "stdlib", "ecosystem": "Go"},
			"ranges":             []any{map[string]any{"type": "SEMVER", "events": []any{map[string]any{"introduced": "0"}}}},
			"ecosystem_specific": map[string]any{"imports": []any{map[string]any{"path": "strings", "symbols": []any{symbol}}}},
		}},
		"database_specific": map[string]any{"url": "https://example.com/" + id, "review_status": "REVIEWED"},
	}
}

func listed(id string) any {
	return map[string]any{"id": id, "modified": "2026-01-01T00:00:00Z"}
}

// write writes files below a directory: texts as they are, and other values as JSON.
func write(t *testing.T, directory string, files map[string]any) {
	t.Helper()
	for name, content := range files {
		text, ok := content.(string)
		if !ok {
			data, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
