package site

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/example/operator-testbed/e2e/markdown"
)

// Languages are those that the site is made ready for, beside English. The translation of docs/install.md to Korean is docs/install.ko.md.
var Languages = []string{"ko"}

// State is how a translation stands to the page that it was made from.
type State string

// The states of a translation.
const (
	// Missing means that there is none.
	Missing State = "missing"
	// Drifted means that the page has changed since.
	Drifted State = "drifted"
	// Current means that the page is the one that the translation was made from.
	Current State = "current"
)

// Translation is a page in another language, or the lack of it.
type Translation struct {
	Page     string // the file in English
	Language string
	File     string // the translation's, whether there is one or not
	State    State
}

// madeFrom matches the comment in a translation that says what it was made from. GitHub shows a comment to nobody.
var madeFrom = regexp.MustCompile(`(?m)^<!-- Translated from ([^ ]+) at ([0-9a-f]{40})\. -->$`)

// Translations returns how every page stands in every language: first by language, then by page. Its errors name translations that don't
// say what they were made from, and those of a page that does not exist.
func Translations(root string) ([]Translation, error) {
	files, err := markdown.Files(root)
	if err != nil {
		return nil, err
	}
	return translations(files, func(file string) ([]byte, error) {
		return os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	})
}

func translations(files []string, read func(string) ([]byte, error)) ([]Translation, error) {
	languages := map[string]bool{}
	for _, code := range Languages {
		languages[code] = true
	}
	var pages []string
	for _, file := range files {
		code, original := language(file)
		switch {
		case code == "":
			pages = append(pages, file)
		case !slices.Contains(files, original):
			return nil, fmt.Errorf("%s translates %s, which does not exist: remove the translation, or rename it with its page", file, original)
		default:
			languages[code] = true
		}
	}
	slices.Sort(pages)
	var all []Translation
	for _, code := range slices.Sorted(maps.Keys(languages)) {
		for _, page := range pages {
			t := Translation{Page: page, Language: code, File: strings.TrimSuffix(page, ".md") + "." + code + ".md", State: Missing}
			if slices.Contains(files, t.File) {
				var err error
				if t.State, err = stateOf(t.File, read); err != nil {
					return nil, err
				}
			}
			all = append(all, t)
		}
	}
	return all, nil
}

// stateOf returns the state of a translation that exists.
func stateOf(file string, read func(string) ([]byte, error)) (State, error) {
	text, err := read(file)
	if err != nil {
		return "", err
	}
	_, original := language(file)
	source, err := read(original)
	if err != nil {
		return "", err
	}
	match := madeFrom.FindSubmatch(text)
	if len(match) == 0 || string(match[1]) != path.Clean(original) {
		return "", fmt.Errorf("%s does not say which version of its page it was made from: start it with the line <!-- Translated from %s at %s. -->, with the hash that git hash-object %s printed then",
			file, original, blobHash(source), original)
	}
	if string(match[2]) == blobHash(source) {
		return Current, nil
	}
	return Drifted, nil
}

// blobHash is what git hash-object prints for a file.
func blobHash(content []byte) string {
	hash := sha1.New()
	fmt.Fprintf(hash, "blob %d\x00", len(content))
	hash.Write(content)
	return hex.EncodeToString(hash.Sum(nil))
}

// PrintTranslations prints what there is to translate in each language: the pages that drifted, then those that are missing.
func PrintTranslations(all []Translation, out io.Writer) {
	byLanguage := map[string]map[State][]Translation{}
	for _, t := range all {
		if byLanguage[t.Language] == nil {
			byLanguage[t.Language] = map[State][]Translation{}
		}
		byLanguage[t.Language][t.State] = append(byLanguage[t.Language][t.State], t)
	}
	for _, code := range slices.Sorted(maps.Keys(byLanguage)) {
		states := byLanguage[code]
		translated := len(states[Current]) + len(states[Drifted])
		fmt.Fprintf(out, "%s: %d of %d pages are translated, and %d of these have drifted\n", code, translated, translated+len(states[Missing]), len(states[Drifted]))
		for _, t := range states[Drifted] {
			fmt.Fprintf(out, "  drifted  %s: %s has changed since\n", t.File, t.Page)
		}
		for _, t := range states[Missing] {
			fmt.Fprintf(out, "  missing  %s\n", t.File)
		}
	}
}
