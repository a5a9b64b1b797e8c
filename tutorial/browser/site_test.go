package browser_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	tabs "github.com/example/operator-testbed/tutorial/browser"
)

// site is the site of the tutorial and the documentation, which is served.
type site struct {
	// root is the address of its start page, and host that of the server.
	root, host string
	// pages are the addresses of its pages below the root: "tutorial/03-controller/".
	pages []string
	// former has the addresses that redirect, and where each leads: both below the root.
	former map[string]string
	// files has everything else as well.
	files map[string]bool
}

// redirect matches what sends a browser from a former address to a page.
var redirect = regexp.MustCompile(`<meta http-equiv="refresh" content="0; url=([^"]+)">`)

// serveSite makes the site for a path, and serves it there.
func serveSite(t *testing.T, base string) site {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site")
	publish := exec.CommandContext(t.Context(), "go", "run", "./e2e/cmd/testbed", "lab", "publish", "--base", base, "--out", dir)
	publish.Dir = filepath.Join("..", "..")
	if out, err := publish.CombinedOutput(); err != nil {
		t.Fatalf("make the site: %v\n%s", err, out)
	}
	mux := http.NewServeMux()
	mux.Handle(base, http.StripPrefix(strings.TrimSuffix(base, "/"), http.FileServer(http.Dir(dir))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s := site{root: server.URL + base, host: strings.TrimPrefix(server.URL, "http://"), files: map[string]bool{}, former: map[string]string{}}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		s.files[name] = true
		if path.Base(name) != "index.html" {
			return nil
		}
		text, err := fs.ReadFile(os.DirFS(dir), name)
		address := strings.TrimPrefix(strings.TrimSuffix(name, "index.html"), "./")
		if to := redirect.FindSubmatch(text); to != nil {
			s.former[address] = strings.TrimPrefix(string(to[1]), base)
		} else {
			s.pages = append(s.pages, address)
		}
		return err
	})
	if err != nil || len(s.pages) < 50 {
		t.Fatalf("the site has %d pages: %v", len(s.pages), err)
	}
	return s
}

// sitePage is what the browser sees of one page.
type sitePage struct {
	Title string   `json:"title"`
	Links []string `json:"links"`
	Loads []string `json:"loads"`
	IDs   []string `json:"ids"`
	Twice []string `json:"twice"`
	Wide  []string `json:"wide"`
	// Cut are blocks that scroll although they should not, and Broken is code whose line breaks where the page does not allow it.
	Cut    []string `json:"cut"`
	Broken []string `json:"broken"`
	Images []string `json:"images"`
	// Quotes are those that nobody types: a browser that looks for can't on a page does not find them.
	Quotes []string `json:"quotes"`
	// Diagrams are those that should be drawn, and Faults what is wrong with one.
	Diagrams int      `json:"diagrams"`
	Faults   []string `json:"faults"`
	Barriers []string `json:"barriers"`
}

// drawn waits for a page's diagrams.
const drawn = `document.readyState === "complete" && [...document.querySelectorAll("pre.mermaid")].every((diagram) => diagram.dataset.processed === "true" && diagram.querySelector("svg"))`

const look = `(() => {
	const ids = [...document.querySelectorAll("[id]")].filter((element) => !element.closest("svg")).map((element) => element.id);
	const diagrams = [...document.querySelectorAll("pre.mermaid")];
	return {
		title: document.title,
		links: [...document.querySelectorAll("a[href]")].map((link) => link.href),
		loads: [...document.querySelectorAll("link[href]")].map((link) => link.href),
		ids,
		twice: ids.filter((id, i) => ids.indexOf(id) !== i),
		images: [...document.images].filter((image) => !image.complete || !image.naturalWidth || !image.hasAttribute("alt")).map((image) => image.src),
		quotes: document.querySelector("main").innerText.match(/.{0,20}[‘’“”].{0,20}/g) ?? [],
		diagrams: diagrams.length,
		faults: diagrams.map((diagram) => diagram.textContent.match(/Unsupported markdown[^\n]*|Syntax error[^\n]*/)?.[0]).filter(Boolean),
	};
})()`

// tooWide names what makes a page wider than the screen.
const tooWide = `(() => {
	const width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth <= width) return [];
	return [...document.querySelectorAll("main *, header *, footer *")].filter((element) => element.getBoundingClientRect().right > width + 1)
		.filter((element) => !element.closest("pre, .table")).map((element) => element.outerHTML.slice(0, 120)).slice(0, 5).concat(document.documentElement.scrollWidth + " px");
})()`

// cut names the blocks that hide the end of a line until they are scrolled. Tables may, also those that a command prints. On a phone, code of
// a file and diagrams may as well.
const cut = `(() => {
	const desktop = innerWidth > 1000;
	return [...document.querySelectorAll(desktop ? "main pre" : "main :is(.command, .output) pre")]
		.filter((block) => !block.querySelector(".row") && block.checkVisibility() && block.scrollWidth > block.clientWidth + 1)
		.map((block) => innerWidth + " px: " + (block.scrollWidth - block.clientWidth) + " px more: " + block.textContent.trim().slice(0, 120));
})()`

// broken names the code within a sentence, the commands and the names of files of which a piece is on two lines.
const broken = `(() => {
	const found = [];
	for (const code of document.querySelectorAll("main :is(:not(pre) > code, .command .line, .bar a)")) {
		if (!code.checkVisibility()) continue;
		const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
		while (texts.nextNode()) {
			const range = document.createRange();
			range.selectNodeContents(texts.currentNode);
			if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(innerWidth + " px: " + texts.currentNode.data);
		}
	}
	return found;
})()`

const barriers = `(async () => {
	const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
	// The thousands of words of code have a dozen colors. One chapter has them all.
	const exclude = location.pathname.includes("/07-rbac/") ? [] : [".chroma"];
	const {violations} = await axe.run({include: [document], exclude}, {runOnly: rules, resultTypes: ["violations"]});
	return violations.map((violation) => violation.id + ": " + violation.help + ": " + violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + (node.any[0]?.message ?? "")).join(" | "));
})()`

// The widths of two screens, in pixels: of a small phone, and of a common desktop.
const (
	phone   = 360
	desktop = 1440
)

// visit looks at one page: as it is, in the dark, and on a phone.
func visit(tab context.Context, t *testing.T, address, axe string) sitePage {
	t.Helper()
	var p sitePage
	actions := []chromedp.Action{
		chromedp.Navigate(address), holds(drawn), chromedp.Evaluate(look, &p),
	}
	if axe != "" {
		actions = append(actions,
			emulation.SetDeviceMetricsOverride(phone, 740, 1, true), chromedp.Evaluate(tooWide, &p.Wide), p.fits(),
			emulation.SetDeviceMetricsOverride(desktop, 900, 1, false), p.fits(), emulation.ClearDeviceMetricsOverride(),
			chromedp.Evaluate(axe, nil), chromedp.Evaluate(barriers, &p.Barriers, awaited))
	}
	run(tab, t, actions...)
	return p
}

// fits looks for blocks that are cut off and for code that is broken, on the screen as it is.
func (p *sitePage) fits() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var cutOff, brokenCode []string
		err := chromedp.Run(ctx, chromedp.Evaluate(cut, &cutOff), chromedp.Evaluate(broken, &brokenCode))
		p.Cut, p.Broken = append(p.Cut, cutOff...), append(p.Broken, brokenCode...)
		return err
	})
}

// awaited waits for a promise.
func awaited(parameters *runtime.EvaluateParams) *runtime.EvaluateParams {
	return parameters.WithAwaitPromise(true)
}

// walk visits all pages, in several tabs of one browser.
func walk(t *testing.T, s site, axe string) map[string]sitePage {
	t.Helper()
	var mu sync.Mutex
	visited := map[string]sitePage{}
	first := tabs.Start(t)
	next := make(chan string, len(s.pages))
	for _, address := range s.pages {
		next <- address
	}
	close(next)
	t.Run("tabs", func(t *testing.T) {
		for i := range 2 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				tab := tabs.Tab(first, t)
				seen := tabs.Watch(tab, t)
				// A tab that takes itself for hidden draws nothing.
				run(tab, t, emulation.SetFocusEmulationEnabled(true))
				for address := range next {
					p := visit(tab, t, s.root+address, axe)
					mu.Lock()
					visited[address] = p
					mu.Unlock()
					p.verify(t, address)
				}
				quiet(t, seen)
				// A tab that starts late may get no page.
				if hosts := seen.Hosts(); len(hosts) > 1 || len(hosts) == 1 && hosts[0] != s.host {
					t.Errorf("the pages asked %q, expected %s alone", hosts, s.host)
				}
			})
		}
	})
	return visited
}

// verify fails the test for what is wrong with a page, whatever the others are like.
func (p sitePage) verify(t *testing.T, address string) {
	t.Helper()
	for fault, found := range map[string][]string{
		"the same id twice": p.Twice, "wider than a phone": p.Wide, "cut off": p.Cut, "code that breaks within a word": p.Broken, "images that are not shown, or say nothing": p.Images,
		"quotes that nobody types": p.Quotes, "diagrams that are not drawn": p.Faults, "barriers": p.Barriers,
	} {
		if len(found) > 0 {
			t.Errorf("/%s: %s:\n  %s", address, fault, strings.Join(found, "\n  "))
		}
	}
}

// broken returns the links of a page that lead nowhere.
func (s site) broken(visited map[string]sitePage, links []string) []string {
	var all []string
	for _, link := range links {
		address, err := url.Parse(link)
		if err != nil {
			all = append(all, link)
			continue
		}
		if address.Host != s.host {
			continue
		}
		name, below := strings.CutPrefix(strings.TrimSuffix(link, "#"+address.EscapedFragment()), s.root)
		target, isPage := visited[name]
		if !below || !isPage && !s.files[name] || isPage && address.Fragment != "" && !slices.Contains(target.IDs, address.Fragment) {
			all = append(all, link)
		}
	}
	return all
}

// The site is looked at where make site-serve and make learn serve it: at the root.
func TestSite(t *testing.T) {
	t.Parallel()
	s := serveSite(t, "/")
	for name, test := range map[string]func(t *testing.T, s site){
		"pages": func(t *testing.T, s site) { verifyPages(t, s, tabs.Axe(t)) }, "search": verifySearch, "search with keys": verifySearchWithKeys,
		"copy": verifyCopy, "term": verifyTerm, "place of the panel": verifyPlaceOfThePanel, "dark": verifyDark, "print": verifyPrint, "pictures": verifyPictures,
		"former addresses": verifyFormer,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// GitHub Pages serves it below the name of the repository. What people see and hear is the same there, so only links are looked at.
func TestSiteBelowAPath(t *testing.T) {
	t.Parallel()
	s := serveSite(t, "/operator-testbed/")
	t.Run("pages", func(t *testing.T) { verifyPages(t, s, "") })
	t.Run("search", func(t *testing.T) { verifySearch(t, s) })
	t.Run("former addresses", func(t *testing.T) { verifyFormer(t, s) })
}

// verifyFormer checks that each former address leads to a page.
func verifyFormer(t *testing.T, s site) {
	if len(s.former) == 0 {
		t.Error("no page has a former address")
	}
	for from, to := range s.former {
		if !slices.Contains(s.pages, to) {
			t.Errorf("/%s redirects to %s, which is not a page", from, to)
		}
	}
}

// verifyPages looks at all pages. Without axe-core, it looks at what differs from path to path.
func verifyPages(t *testing.T, s site, axe string) {
	visited := walk(t, s, axe)
	titles := map[string]string{}
	diagrams := 0
	for _, address := range s.pages {
		p := visited[address]
		diagrams += p.Diagrams
		if broken := s.broken(visited, slices.Concat(p.Links, p.Loads)); len(broken) > 0 {
			t.Errorf("/%s: links that lead nowhere: %q", address, broken)
		}
		if other, ok := titles[p.Title]; ok {
			t.Errorf("/%s and /%s have the same title, %s", address, other, p.Title)
		}
		titles[p.Title] = address
	}
	if diagrams < 20 {
		t.Errorf("the site has %d diagrams", diagrams)
	}
}

// chapters returns those of the site, such as 03-controller.
func (s site) chapters() []string {
	var all []string
	for _, address := range s.pages {
		if directory, name := path.Split(strings.TrimSuffix(address, "/")); directory == "tutorial/" {
			all = append(all, name)
		}
	}
	return all
}

// terms are what somebody may look for who has read a chapter.
var terms = map[string]string{
	"00-control-loop":    "actuator",
	"01-custom-resource": "FlightTicket",
	"informer-queue":     "indexer",
	"02-api":             "deepcopy",
	"03-controller":      "SetupWithManager",
	"04-status":          "observedGeneration",
	"05-failures":        "DeploymentRefused",
	"06-watches":         "EnqueueRequestsFromMapFunc",
	"07-rbac":            "ClusterRoleBinding",
	"08-deployment":      "distroless",
	"09-availability":    "leader election",
	"10-finalizers":      "finalizer",
	"11-admission":       "ValidatingAdmissionPolicy",
	"12-certificates":    "x509",
	"19-finished":        "guided tour",
	"18-operator-sdk":    "labels and the port",
	"quickstart":         "behind the operator's back",
	"14-references":      "authSecretRef",
	"13-testing":         "BeforeSuite",
	"15-versions":        "StorageVersionMigration",
}

// opened returns a tab that takes itself for the one in front, without which nothing in it has the focus.
func opened(t *testing.T) context.Context {
	t.Helper()
	tab := tabs.Start(t)
	run(tab, t, emulation.SetFocusEmulationEnabled(true))
	return tab
}

// answers waits until what is found is about all of a term, and not only about its first letters.
func answers(term string) chromedp.Action {
	return holds(fmt.Sprintf(`document.querySelector("#found ul")?.dataset.answers === %q`, term))
}

func verifySearch(t *testing.T, s site) {
	tab := opened(t)
	seen := tabs.Watch(tab, t)
	run(tab, t, chromedp.Navigate(s.root+"docs/glossary/"), chromedp.WaitVisible("#query"))
	search := func(term string) []string {
		var found []string
		run(tab, t, chromedp.Evaluate(`document.getElementById("query").value = ""`, nil), chromedp.SendKeys("#query", term), answers(term),
			chromedp.Evaluate(`[...document.querySelectorAll("#found a")].map((link) => link.href)`, &found))
		return found
	}
	for _, chapter := range s.chapters() {
		term, ok := terms[chapter]
		if !ok {
			t.Errorf("name a term that is found in %s", chapter)
			continue
		}
		found := search(term)
		if !slices.ContainsFunc(found, func(link string) bool { return strings.HasPrefix(link, s.root+"tutorial/"+chapter+"/") }) {
			t.Errorf("%q does not find %s, but %q", term, chapter, found)
		}
	}
	// Terms with digits, and parts of names.
	for term, page := range map[string]string{"v1alpha1": "", "409": "", "NotFound": "", "permissions 2019": "docs/older-posts/"} {
		if found := search(term); !slices.ContainsFunc(found, func(link string) bool { return strings.HasPrefix(link, s.root+page) }) {
			t.Errorf("%q does not find /%s, but %q", term, page, found)
		}
	}
	quiet(t, seen)
}

// The search works without a mouse, and shows markup of a text as text.
func verifySearchWithKeys(t *testing.T, s site) {
	tab := opened(t)
	run(tab, t, chromedp.Navigate(s.root), chromedp.WaitVisible("#query"), chromedp.KeyEvent("/"), chromedp.KeyEvent("finalizer"),
		answers("/finalizer"), // a browser that is driven types the slash into the field, too
		text("#found [role=status]", "found"), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	if focused := value[bool](tab, t, `document.activeElement === document.querySelectorAll("#found a")[1]`); !focused {
		t.Error("two arrows down are not at the second place")
	}
	run(tab, t, chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#found"))
	if images := value[int](tab, t, `document.querySelectorAll("#found :not(p, ul, li, a, strong, small, span, mark)").length`); images != 0 {
		t.Errorf("what is found has %d elements that the search did not make", images)
	}
	run(tab, t, chromedp.Evaluate(`document.getElementById("query").value = ""`, nil), chromedp.SendKeys("#query", "qqqxyz"), text("#found [role=status]", "Nothing found"))
}

// The button copies what is typed: no prompt, no comment, no output.
func verifyCopy(t *testing.T, s site) {
	tab := opened(t)
	run(tab, t, browser.GrantPermissions([]browser.PermissionType{browser.PermissionTypeClipboardReadWrite, browser.PermissionTypeClipboardSanitizedWrite}),
		chromedp.Navigate(s.root), chromedp.WaitVisible(".hero .copy"), tabs.Click(".hero .copy"),
		text(".hero .copy", "Copied"))
	copied := ""
	run(tab, t, chromedp.Evaluate("navigator.clipboard.readText()", &copied, awaited))
	if want := "git clone https://github.com/example/operator-testbed && cd operator-testbed\nmake demo\nmake test"; copied != want {
		t.Errorf("copied %q, expected %q", copied, want)
	}
}

// A term of the glossary explains itself to the mouse and to the keyboard, until Escape.
func verifyTerm(t *testing.T, s site) {
	tab := opened(t)
	run(tab, t, chromedp.Navigate(s.root+"tutorial/03-controller/"), chromedp.WaitVisible("a.term"))
	definition := value[string](tab, t, `document.querySelector("a.term").dataset.definition`)
	if definition == "" {
		t.Fatal("a term has no definition")
	}
	run(tab, t, chromedp.Focus("a.term"), chromedp.WaitVisible("#tip"), text("#tip", definition))
	if described := value[string](tab, t, `document.activeElement.getAttribute("aria-describedby")`); described != "tip" {
		t.Errorf("the term is described by %q", described)
	}
	run(tab, t, chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible("#tip"),
		chromedp.Evaluate(`document.querySelector("a.term").dispatchEvent(new MouseEvent("mouseenter"))`, nil), chromedp.WaitVisible("#tip"))
}

// A chapter has one place for the panel of make learn, and it takes no room while nobody serves it.
func verifyPlaceOfThePanel(t *testing.T, s site) {
	tab := opened(t)
	for _, chapter := range s.chapters() {
		run(tab, t, chromedp.Navigate(s.root+"tutorial/"+chapter+"/"))
		if found := value[string](tab, t, `[...document.querySelectorAll("#learn")].map((panel) => panel.dataset.chapter + panel.offsetHeight).join()`); found != chapter+"0" {
			t.Errorf("%s has the panels %s", chapter, found)
		}
	}
}

// The dark colors can be read, too.
func verifyDark(t *testing.T, s site) {
	axe := tabs.Axe(t)
	tab := tabs.Start(t)
	run(tab, t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	for _, address := range []string{"", "tutorial/07-rbac/"} {
		p := visit(tab, t, s.root+address, axe)
		p.verify(t, address)
		if dark := value[bool](tab, t, `document.documentElement.classList.contains("dark")`); !dark {
			t.Errorf("/%s is light", address)
		}
	}
}

// Somebody who prints a chapter gets the text, and all of it.
func verifyPrint(t *testing.T, s site) {
	tab := opened(t)
	run(tab, t, chromedp.Navigate(s.root+"tutorial/03-controller/"), emulation.SetEmulatedMedia().WithMedia("print"))
	visible := value[[]string](tab, t, `[".top", ".contents", ".beside", ".pager", ".copy", ".bottom", "h1", ".command pre", ".output pre"].filter((name) => document.querySelector(name).checkVisibility())`)
	if want := []string{"h1", ".command pre", ".output pre"}; !slices.Equal(visible, want) {
		t.Errorf("printed are %q, expected %q", visible, want)
	}
	if cut := value[int](tab, t, `[...document.querySelectorAll(".text pre:not(.mermaid)")].filter((block) => block.scrollWidth > block.clientWidth + 1).length`); cut != 0 {
		t.Errorf("%d blocks are cut off", cut)
	}
}

// The pictures are for the documentation and for those who change its look: PICTURES=directory keeps them.
func verifyPictures(t *testing.T, s site) {
	first := tabs.Start(t)
	dir := pictures(t)
	for name, shot := range map[string]struct {
		page, scheme  string
		width, height int64
	}{
		"landing-light": {"", "light", 1200, 800}, "landing-dark": {"", "dark", 1200, 800}, "landing-phone": {"", "light", phone, 740},
		"chapter-light": {"tutorial/03-controller/", "light", 1200, 800}, "chapter-dark": {"tutorial/03-controller/", "dark", 1200, 800},
		"chapter-phone": {"tutorial/03-controller/", "dark", phone, 740},
	} {
		tab := tabs.Tab(first, t)
		run(tab, t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: shot.scheme}}),
			chromedp.EmulateViewport(shot.width, shot.height), chromedp.Navigate(s.root+shot.page), holds(drawn))
		keep(tab, t, filepath.Join(dir, name+".png"))
		if dark := value[bool](tab, t, `document.documentElement.classList.contains("dark")`); dark != (shot.scheme == "dark") {
			t.Errorf("%s: dark is %t", name, dark)
		}
	}
}
