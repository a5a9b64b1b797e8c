package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// term is a row of the glossary's table: a word, what it means and the page that says more.
var term = regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| \[[^\]]+\]\(([^)]+)\) \|$`)

// TestGlossary requires that the glossary is in alphabetical order, and that the page that it links for a word uses the word.
func TestGlossary(t *testing.T) {
	var words []string
	for _, row := range term.FindAllStringSubmatch(read(t, "docs/glossary.md"), -1) {
		word, page := strings.ToLower(row[1]), row[2]
		words = append(words, word)
		if strings.HasPrefix(page, "https://") {
			continue
		}
		text := read(t, "docs/"+page)
		synonyms := strings.Split(word, ", ")
		if !slices.ContainsFunc(synonyms, func(s string) bool { return strings.Contains(strings.ToLower(text), s) }) {
			t.Errorf("%s does not say %q: send the reader to a page that explains it", page, word)
		}
	}
	if len(words) == 0 {
		t.Fatal("there is no table of words in glossary.md")
	}
	if !slices.IsSorted(words) {
		t.Errorf("the words are not in order: %q", words)
	}
}

// everyday lists words of the glossary that texts also use in their everyday sense, which no test can distinguish.
var everyday = []string{"drift", "embedded", "kind (the tool)", "watch"}

// TestFirstUse requires that the chapters, in their order, explain each term where they first use it: it is a link there, or
// emphasized as a word that is being defined. So do the quick start and the index of the chapters, which may be read without the others,
// except in their tables, which name the topics of the chapters.
func TestFirstUse(t *testing.T) {
	files := append(glob(t, "tutorial/[0-9]*/README.md"), "tutorial/informer-queue/README.md")
	pages := make([]string, len(files))
	for i, file := range files {
		pages[i] = proseOf(read(t, file))
	}
	verifyFirstUses(t, files, pages)
	// The quick start is read before them, or not at all.
	const quickStart = "tutorial/quickstart/README.md"
	verifyFirstUses(t, []string{quickStart}, []string{row.ReplaceAllString(proseOf(read(t, quickStart)), "")})
	const index = "tutorial/README.md"
	verifyFirstUses(t, []string{index}, []string{row.ReplaceAllString(proseOf(read(t, index)), "")})
}

// row is a row of any table.
var row = regexp.MustCompile(`(?m)^\|[^\n]*$`)

// verifyFirstUses finds the first use of each term of the glossary in the pages of these files, in this order.
func verifyFirstUses(t *testing.T, files, pages []string) {
	t.Helper()
	for _, row := range term.FindAllStringSubmatch(read(t, "docs/glossary.md"), -1) {
		word := strings.ToLower(row[1])
		if word == "word" || slices.Contains(everyday, word) {
			continue
		}
		for i, page := range pages {
			explained, used, context := firstUse(page, strings.Split(word, ", "))
			if used && !explained {
				t.Errorf("%s uses %q first, and does not say what it means: make it a link, or *emphasize* it where it is explained: …%s…", files[i], word, context)
			}
			if used {
				break
			}
		}
	}
}

func TestFindFirstUse(t *testing.T) {
	for page, explained := range map[string]bool{
		"# The fence\n\nA *fence* keeps it out.\n":                                true,
		"A [fence](glossary.md) keeps it out.\n":                                  true,
		"[Two fences](glossary.md) keep it out.\n":                                true,
		"| part | does |\n|---|---|\n| fence | keeps it out |\n":                  true,
		"*A thing* keeps it out, the fence, *not more*.\n":                        false,
		"`make fence` makes a *fence*.\n":                                         true,
		"A fencepost.\n\n```go\nfence()\n```\n\n<!-- a fence -->\nThe **fence**.": true,
		"A fence keeps it out. A *fence*!\n":                                      false,
	} {
		got, used, _ := firstUse(proseOf(page), []string{"fence"})
		if !used || got != explained {
			t.Errorf("expected %v, got %v (used: %v) in\n%s", explained, got, used, page)
		}
	}
	if _, used, _ := firstUse(proseOf("fencepost, fence-like, kube-fence"), []string{"fence"}); used {
		t.Error("found a part of a word")
	}
}

// notProse matches the parts of a page that are not sentences: comments, blocks and headings.
var notProse = regexp.MustCompile("(?ms)<!--.*?-->|^```[^\n]*\n.*?\n```$|^#[^\n]*$")

// code matches text between backticks. Only the name of a field counts as a word of the sentence around it.
var code, field = regexp.MustCompile("`[^`\n]*`"), regexp.MustCompile("^`([a-z]+[A-Z][A-Za-z]*|spec|status)`$")

// proseOf returns the sentences of a page.
func proseOf(page string) string {
	return code.ReplaceAllStringFunc(notProse.ReplaceAllString(page, ""), func(span string) string {
		if field.MatchString(span) {
			return span
		}
		return "(code)"
	})
}

// standsOut matches what shows the meaning of a word: a link, emphasis, or the first cell of a row.
var standsOut = regexp.MustCompile(`(?m)\[[^\]]*\]\([^)]*\)|\*{1,2}[^*\n]+\*{1,2}|^\|[^|]+\|`)

// firstUse finds the first of the synonyms in the text, and some text around it.
func firstUse(text string, synonyms []string) (explained, used bool, context string) {
	for i, synonym := range synonyms {
		synonyms[i] = strings.Replace(regexp.QuoteMeta(synonym), "copies", "cop(y|ies)", 1)
	}
	at := regexp.MustCompile(`(?i)(?:^|[^\w-])(` + strings.Join(synonyms, "|") + `)(?:e?s)?(?:$|[^\w-])`).FindStringSubmatchIndex(text)
	if at == nil {
		return false, false, ""
	}
	begin, end := at[2], at[3]
	for _, place := range standsOut.FindAllStringIndex(text, -1) {
		explained = explained || place[0] <= begin && end <= place[1]
	}
	return explained, true, strings.ReplaceAll(text[max(0, begin-60):min(len(text), end+40)], "\n", " ")
}
