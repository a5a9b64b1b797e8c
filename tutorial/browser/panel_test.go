package browser_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/example/operator-testbed/tutorial/browser"
)

const chapterURL = "/tutorial/04-status/"

// wide and narrow are windows with and without room for the panel beside the text.
var (
	wide   = chromedp.EmulateViewport(1440, 1000)
	narrow = chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile)
)

// openPanel opens a chapter of a server that shows a state.
func openPanel(t *testing.T, state string) (context.Context, *learnServer) {
	t.Helper()
	tab := browser.Start(t)
	s := serveLearn(t, 0)
	s.show(t, stateOf(t, state))
	run(tab, t, wide, chromedp.Navigate(s.invitation), chromedp.WaitVisible("#home"), chromedp.Navigate(s.url+chapterURL), text(".live", "Live"),
		holds("document.querySelector('.progress p').textContent !== ''"))
	return tab, s
}

var holds = browser.Holds

// press clicks on the button of an action.
func press(action string) chromedp.Action {
	return browser.Click(fmt.Sprintf("[data-action=%s]", action))
}

func quiet(t *testing.T, seen *browser.Seen) {
	t.Helper()
	if complaints := seen.Complaints(); len(complaints) > 0 {
		t.Errorf("the browser complains: %q", complaints)
	}
}

func TestPanelShowsTheCluster(t *testing.T) {
	tab := browser.Start(t)
	seen := browser.Watch(tab, t)
	s := serveLearn(t, 0)
	hostile := stateOf(t, "failing")
	conditions := object(hostile)["conditions"].([]any)
	conditions[0].(map[string]any)["since"] = time.Now().Add(-90 * time.Minute).Format(time.RFC3339)
	conditions[2].(map[string]any)["message"] = `<img src=x onerror="document.title='owned'">`
	s.show(t, hostile)
	run(tab, t, wide, chromedp.Navigate(s.invitation), chromedp.WaitVisible("#home"), chromedp.Navigate(s.url+chapterURL),
		text(".live", "Live"), text("#learn .tree", "2/3 ready"), text("#learn .progress", "5 of 13 chapters done"), text("#learn .progress", "1 of 3 labs done"))
	for selector, want := range map[string]string{
		".status":           "running",
		".status + .status": "your copy, my-operator",
		".tree":             "CrashLoopBackOff",
		".selectedName":     "Conditions of Memcached memcached-sample",
		".conditions":       "ReplicasNotReady",
		".conditions time":  "1 h ago",
		".writes":           "deployments/memcached-sample",
		".writes .bad":      "patch",
		".events":           "warning, 4 times",
		".log":              "Starting workers",
		".map":              "04",
	} {
		if got := value[string](tab, t, fmt.Sprintf("document.querySelector('#learn %s').textContent", selector)); !strings.Contains(got, want) {
			t.Errorf("%s has %q, expected %q in it", selector, got, want)
		}
	}
	// What has no room is there for those who point at it.
	if titles := value[bool](tab, t, "[...document.querySelectorAll('#learn .tree .state')].every((state) => state.title === state.textContent)"); !titles {
		t.Error("a state has another title")
	}
	// What the cluster says stays text.
	run(tab, t, text("#learn .conditions", `<img src=x onerror="document.title='owned'">`))
	if images, title := value[int](tab, t, "document.images.length"), value[string](tab, t, "document.title"); images != 0 || title != "The status" {
		t.Errorf("the page has %d images, and is called %q", images, title)
	}
	// The health is in words, too, and in the form of the icon.
	if label := value[string](tab, t, "document.querySelector('[role=treeitem]').ariaLabel"); label != "Memcached memcached-sample, 2/3 ready, failing" {
		t.Errorf("the first object is called %q", label)
	}
	forms := value[int](tab, t, "new Set([...document.querySelectorAll('.tree .health')].map(each => getComputedStyle(each).clipPath)).size")
	if forms != 3 {
		t.Errorf("there are %d forms of icons, expected those of failing, changing and healthy objects", forms)
	}
	// Another state changes what differs, in the elements that are there.
	run(tab, t, chromedp.Evaluate("window.before = document.querySelector('[data-id=\"pod-zt5vn\"]')", nil))
	s.show(t, stateOf(t, "running"))
	run(tab, t, text("#learn .tree", "3/3 ready"), text("#learn .conditions", "AllReplicasReady"))
	if !value[bool](tab, t, "window.before === document.querySelector('[data-id=\"pod-zt5vn\"]') && window.before.textContent.includes('Running, ready')") {
		t.Error("the pod's element was replaced")
	}
	if n := value[int](tab, t, "document.querySelectorAll('[style]').length"); n != 0 {
		t.Errorf("%d elements have a style of their own", n)
	}
	if hosts := seen.Hosts(); !slices.Equal(hosts, []string{s.host}) {
		t.Errorf("the page asked %q, expected %s alone", hosts, s.host)
	}
	quiet(t, seen)
}

// The ages of conditions grow without another state.
func TestPanelAges(t *testing.T) {
	tab, _ := openPanel(t, "failing")
	run(tab, t, chromedp.Evaluate("window.age = () => document.querySelector('.conditions time').textContent; window.before = age()", nil), holds("age() !== before"))
}

func TestPanelSelects(t *testing.T) {
	tab, _ := openPanel(t, "failing")
	run(tab, t, browser.Click(`[data-id="pod-zt5vn"] .row`), text("#learn .selectedName", "Conditions of Pod memcached-sample-6f7d5c9b8d-zt5vn"),
		text("#learn .conditions", "containers with unready status"))
	run(tab, t, browser.Click(`[data-id="rs"] .row`), text("#learn .noConditions", "This ReplicaSet has no conditions."))
	run(tab, t, browser.Click(`[data-id="dep"] .twist`), holds(`document.querySelector('[data-id="rs"]').offsetHeight === 0`))
}

func TestPanelWithoutACluster(t *testing.T) {
	tab, s := openPanel(t, "absent")
	seen := browser.Watch(tab, t)
	run(tab, t, text("#learn .status", "not running"), text("#learn .clusterMessage", "“Start the cluster” brings it up"), text("#learn .noObjects", "once a cluster is running"),
		text("#learn .copy", "You have no copy"), text("#learn .checkWhy", "Check, Hint, Reset: you have no copy to check"))
	// A button that can't be used says why, and does nothing.
	const described = "document.getElementById(document.querySelector('[data-action=check]').getAttribute('aria-describedby')).textContent"
	if got := value[string](tab, t, described); got != "you have no copy to check" {
		t.Errorf("Check is described by %q", got)
	}
	if !value[bool](tab, t, "document.querySelector('[data-action=check]').ariaDisabled === 'true'") {
		t.Error("Check can be used")
	}
	run(tab, t, press("check"), text("#learn .spoken", "Check: you have no copy to check"), press("start"))
	if got := s.post(t); got != "start chapter=04-status" {
		t.Errorf("got %q", got)
	}
	starting := stateOf(t, "absent")
	starting["cluster"] = map[string]any{"state": "starting", "kind": "embedded", "message": "waiting for the API server"}
	starting["task"] = map[string]any{"action": "start", "running": true, "line": "3 of 5: kube-apiserver"}
	s.show(t, starting)
	run(tab, t, text("#learn .task", "3 of 5: kube-apiserver"), text("#learn .clusterMessage", "waiting for the API server"), text("#learn .spoken", "Cluster: starting"))
	started := stateOf(t, "running")
	started["task"] = map[string]any{"action": "start", "line": "the cluster is up"}
	s.show(t, started)
	run(tab, t, text("#learn .task", "the cluster is up"), holds("document.querySelector('#learn .cancel').hidden"))
	quiet(t, seen)
}

// What is for the learner's copy is only possible on the page of its chapter.
func TestPanelOfAnotherChapter(t *testing.T) {
	tab, s := openPanel(t, "running")
	state := stateOf(t, "running")
	for _, action := range state["actions"].([]any) {
		if action := action.(map[string]any); action["name"] == "check" {
			action["enabled"], action["chapter"] = true, "03-controller"
		}
	}
	s.show(t, state)
	run(tab, t, text("#learn .checkWhy", "Check: your copy is of 03-controller"), press("check"), text("#learn .spoken", "Check: your copy is of 03-controller"))
}

// feature is one of a task.
func feature(name, outcome string, more ...string) map[string]any {
	all := map[string]any{"name": name, "title": "Title of " + name, "outcome": outcome}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

func TestPanelChecks(t *testing.T) {
	tab, s := openPanel(t, "running")
	seen := browser.Watch(tab, t)
	run(tab, t, press("check"))
	if got := s.post(t); got != "check chapter=04-status" {
		t.Errorf("got %q", got)
	}
	state := stateOf(t, "running")
	during := func(running bool, passed int, features ...any) {
		t.Helper()
		state["task"] = map[string]any{"action": "check", "running": running, "line": "building the suite", "features": features, "passed": passed, "of": 2}
		state["actions"] = []any{map[string]any{"name": "cancel", "enabled": running}}
		s.show(t, state)
	}
	outcome := func(name, want string) chromedp.Action {
		return holds(fmt.Sprintf("[...document.querySelectorAll('.features li')].some(li => li.textContent.includes('%s') && li.querySelector('.outcome').textContent === '%s')", name, want))
	}
	during(true, 0, feature("TestScales", "running"), feature("TestDeletes", "waiting"))
	run(tab, t, text("#learn .task", "building the suite"), outcome("TestScales", "running"), outcome("TestDeletes", "waiting"), press("cancel"))
	if got := s.post(t); got != "cancel chapter=04-status" {
		t.Errorf("got %q", got)
	}
	during(true, 1, feature("TestScales", "passed"), feature("TestDeletes", "running"))
	run(tab, t, outcome("TestScales", "passed"), text("#learn .score", "1 of 2 passed"))
	during(false, 1, feature("TestScales", "passed"),
		feature("TestDeletes", "failed", "expected", "no Deployment", "seen", "1 Deployment", "step", "delete the Memcached", "hint", "Who owns the Deployment?"))
	run(tab, t, outcome("TestDeletes", "failed"), text("#learn [data-outcome=failed] .expected", "no Deployment"), holds("document.querySelector('#learn .task').hidden"),
		text("#learn .spoken", "1 of 2 passed. Title of TestDeletes failed. Who owns the Deployment?"))
	shown := value[string](tab, t, "document.querySelector('[data-outcome=failed] dl').innerText.replace(/\\s+/g, ' ')")
	if want := "Expected no Deployment Seen 1 Deployment Step delete the Memcached Hint Who owns the Deployment?"; shown != want {
		t.Errorf("the failed feature shows %q, expected %q", shown, want)
	}
	state["task"] = map[string]any{"action": "hint", "hint": "Look at ownerReference."}
	s.show(t, state)
	run(tab, t, text("#learn .hintNote", "Look at ownerReference."), text("#learn .spoken", "Hint: Look at ownerReference."))
	state["task"] = map[string]any{"action": "check", "error": "the operator does not compile"}
	s.show(t, state)
	run(tab, t, text("#learn .error", "the operator does not compile"))
	quiet(t, seen)
}

// Reset and Break replace something, so they ask first. The answer that changes nothing has the focus.
func TestPanelAsks(t *testing.T) {
	tab, s := openPanel(t, "running")
	open := "document.querySelector('.learn-dialog').open"
	run(tab, t, press("reset"), holds(open), text(".learn-dialog", "my-operator becomes what the chapter starts with."),
		holds("document.activeElement.textContent === 'Leave it as it is'"), chromedp.KeyEvent(kb.Enter), holds("!"+open),
		press("reset"), holds(open), chromedp.KeyEvent(kb.Escape), holds("!"+open), holds("document.activeElement.dataset.action === 'reset'"),
		press("hint"))
	if got := s.post(t); got != "hint chapter=04-status" {
		t.Errorf("got %q after two answers that change nothing", got)
	}
	run(tab, t, press("reset"), holds(open), browser.Click(".learn-dialog .yes"))
	if got := s.post(t); got != "reset chapter=04-status&confirm=yes" {
		t.Errorf("got %q", got)
	}
	run(tab, t, press("break"), holds(open), text(".learn-dialog", "Every pod that is there now crashes"), browser.Click(".learn-dialog .yes"))
	if got := s.post(t); got != "break chapter=04-status&confirm=yes&lab=crashing-pods" {
		t.Errorf("got %q", got)
	}
	// The labs of other chapters are for their pages.
	state := stateOf(t, "running")
	state["labs"] = []any{map[string]any{"name": "hands-off", "title": "No repair.", "chapter": "03-controller"},
		map[string]any{"name": "no-answer", "title": "No Deployment follows.", "chapter": "04-status"}}
	s.show(t, state)
	run(tab, t, holds("document.querySelector('#learn .lab').options.length === 1"), press("break"), holds(open), text(".learn-dialog", "No Deployment follows. You get a copy"),
		browser.Click(".learn-dialog .yes"))
	if got := s.post(t); got != "break chapter=04-status&confirm=yes&lab=no-answer" {
		t.Errorf("got %q", got)
	}
}

func TestPanelShowsARefusal(t *testing.T) {
	tab, s := openPanel(t, "running")
	s.refuse("a check is running: wait for it or cancel it <b>first</b>")
	run(tab, t, press("check"), text("#learn .refusal", "a check is running: wait for it or cancel it <b>first</b>"), text("#learn .spoken", "a check is running"))
	s.refuse("")
	run(tab, t, press("hint"), holds("document.querySelector('#learn .refusal').hidden"))
}

// Browsers open six connections to a server, so all tabs share one stream. When the tab that has it is closed, another one takes over.
func TestPanelTabs(t *testing.T) {
	first, s := openPanel(t, "running")
	tabs := []context.Context{first}
	for len(tabs) < 8 {
		tab := browser.Tab(first, t)
		run(tab, t, wide, chromedp.Navigate(s.url+chapterURL), page.BringToFront(), text(".live", "Live"))
		tabs = append(tabs, tab)
	}
	if asked, _ := s.streams(); asked != 1 {
		t.Errorf("8 tabs asked for %d streams, expected 1", asked)
	}
	show := func(state string) {
		t.Helper()
		changed := stateOf(t, "running")
		object(changed)["state"] = state
		s.show(t, changed)
		for _, tab := range tabs {
			run(tab, t, page.BringToFront(), text("#learn .tree", state))
		}
	}
	show("the first news")
	// The first tab has the stream. It is left for a page without the panel, and the second is closed.
	run(first, t, page.BringToFront(), chromedp.Navigate(s.url+"/tutorial/without/"))
	run(tabs[1], t, page.Close())
	tabs = tabs[2:]
	show("news after a change of tabs")
	if asked, crowded := s.streams(); asked < 2 || crowded {
		t.Errorf("the other tabs asked for %d streams, several at once: %t, expected one after the other", asked-1, crowded)
	}
}

// A panel without news says so, shows nothing as live, and tries again with longer and longer pauses.
func TestPanelReconnects(t *testing.T) {
	tab, s := openPanel(t, "running")
	// The pauses are those that the panel asks for. They take no time, or what the machine takes would count.
	run(tab, t, chromedp.Evaluate(`window.pauses = []; const timeout = setTimeout;
		window.setTimeout = (then, pause) => { if (pause < 500) return timeout(then, pause); pauses.push(pause); return timeout(then); }; 1`, nil))
	s.drop(true)
	run(tab, t, text(".live", "Not live"), text("#learn .lost", "The connection to make learn is lost."), text("#learn .lost", "What you see is from"),
		text("#learn .spoken", "The connection to make learn is lost."), holds("document.querySelector('#learn').classList.contains('stale')"))
	if n := value[int](tab, t, "document.querySelectorAll('#learn [data-action]:not([aria-disabled])').length"); n != 0 {
		t.Errorf("%d buttons can be used without a connection", n)
	}
	run(tab, t, holds("pauses.length >= 7"))
	if pauses := value[[]int](tab, t, "pauses.slice(0, 7)"); !slices.Equal(pauses, []int{500, 1000, 2000, 4000, 8000, 15000, 15000}) {
		t.Errorf("its pauses are %v ms, expected longer and longer ones", pauses)
	}
	if asked, _ := s.streams(); asked < 7 {
		t.Errorf("it asked for %d streams, expected one after each pause", asked)
	}
	back := stateOf(t, "failing")
	s.show(t, back)
	s.drop(false)
	run(tab, t, text(".live", "Live"), text("#learn .tree", "2/3 ready"), holds("document.querySelector('#learn .lost').hidden && !document.querySelector('#learn').classList.contains('stale')"))
}

// A server that was restarted does not know the browser's cookie.
func TestPanelOfARestartedServer(t *testing.T) {
	tab, s := openPanel(t, "running")
	s.stop()
	run(tab, t, text(".live", "Not live"))
	again := serveLearn(t, s.port)
	run(tab, t, text("#learn .lost", "open the address that it printed"))
	again.show(t, stateOf(t, "running"))
	run(tab, t, chromedp.Navigate(again.invitation), chromedp.WaitVisible("#home"), chromedp.Navigate(again.url+chapterURL), text(".live", "Live"))
}

// The tree is a stop of the Tab key, and arrows move in it. The focus stays with an object while others come and go.
func TestPanelKeepsTheFocus(t *testing.T) {
	tab, s := openPanel(t, "running")
	at := func(id string) chromedp.Action {
		return holds(fmt.Sprintf("document.activeElement.dataset.id === %q", id))
	}
	run(tab, t, chromedp.Focus(`[data-id="mc"]`, chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown), at("dep"), chromedp.KeyEvent(kb.ArrowRight), at("rs"),
		chromedp.KeyEvent(kb.End), at("pod-zt5vn"), chromedp.KeyEvent(kb.Home), at("mc"), chromedp.KeyEvent(kb.ArrowLeft),
		holds(`document.querySelector('[data-id="mc"]').ariaExpanded === 'false'`), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.End), at("pod-zt5vn"),
		chromedp.KeyEvent(kb.ArrowLeft), at("rs"), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), at("pod-9wq7m"),
		chromedp.KeyEvent(kb.Enter), text("#learn .selectedName", "memcached-sample-6f7d5c9b8d-9wq7m"))
	if stops := value[int](tab, t, `document.querySelectorAll('.tree [tabindex="0"]').length`); stops != 1 {
		t.Errorf("the tree has %d stops, expected 1", stops)
	}
	state := stateOf(t, "running")
	pods := object(state, 0, 0)["children"].([]any)
	fresh := map[string]any{"id": "pod-new", "kind": "Pod", "name": "memcached-sample-6f7d5c9b8d-aaaaa", "state": "Pending", "health": "progressing"}
	replicas := object(state, 0, 0)
	replicas["children"] = []any{fresh, pods[2], pods[1], pods[0]}
	s.show(t, state)
	run(tab, t, holds(`document.querySelector('[data-id="rs"] > ul > li').dataset.id === 'pod-new'`), at("pod-9wq7m"))
	replicas["children"] = []any{fresh, pods[2], pods[0]}
	s.show(t, state)
	run(tab, t, holds(`!document.querySelector('[data-id="pod-9wq7m"]')`), at("pod-4xk2p"))
}

func TestPanelOpensAndCloses(t *testing.T) {
	tab, s := openPanel(t, "running")
	shown := "!document.querySelector('#learn').hidden"
	reload := chromedp.Navigate(s.url + chapterURL)
	beside := "document.querySelector('main').getBoundingClientRect().right <= document.querySelector('#learn').getBoundingClientRect().left"
	run(tab, t, holds(shown), holds(beside), browser.Click("#learn .close"), holds("!("+shown+")"),
		holds("document.activeElement.ariaExpanded === 'false'"), reload, chromedp.WaitVisible(".learn-opener", chromedp.ByQuery), holds("!("+shown+")"),
		// Each width remembers its own.
		narrow, reload, holds("!("+shown+")"), browser.Click(".learn-opener"), holds(shown), holds("document.activeElement.classList.contains('close')"),
		holds("document.documentElement.scrollWidth <= innerWidth"), reload, holds(shown),
		chromedp.Focus("#learn .close", chromedp.ByQuery), chromedp.KeyEvent(kb.Escape), holds("!("+shown+")"),
		wide, reload, holds("!("+shown+")"), browser.Click(".learn-opener"), holds(shown), reload, holds(shown))
}

// The colors follow the theme, which marks the page, and nothing moves for those who do not want it.
func TestPanelFollowsTheReader(t *testing.T) {
	tab, s := openPanel(t, "running")
	paper := "getComputedStyle(document.querySelector('#learn')).backgroundColor"
	light := value[string](tab, t, paper)
	run(tab, t, chromedp.Evaluate("document.documentElement.classList.add('dark')", nil))
	if dark := value[string](tab, t, paper); light != "rgb(255, 255, 255)" || dark == light {
		t.Errorf("the panel is %s, and %s in the dark", light, dark)
	}
	state := stateOf(t, "running")
	state["task"] = map[string]any{"action": "check", "running": true, "features": []any{feature("TestScales", "running")}}
	s.show(t, state)
	moving := "document.querySelector('#learn').getAnimations({ subtree: true }).length"
	run(tab, t, text("#learn .features", "running"), holds(moving+" > 0"),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}), holds(moving+" === 0"))
}

// A page of another chapter says whose panel it has, and a page without a place for the panel stays as it is.
func TestPanelElsewhere(t *testing.T) {
	tab, s := openPanel(t, "running")
	seen := browser.Watch(tab, t)
	run(tab, t, chromedp.Navigate(s.url+"/tutorial/06-watches/"), text("#learn .elsewhere", "This panel is about 04-status"),
		browser.Click("#learn .elsewhere a"), chromedp.WaitVisible(".map a[aria-current][href='"+chapterURL+"']"), text(".live", "Live"),
		holds("document.querySelector('#learn .elsewhere').hidden"),
		chromedp.Navigate(s.url+"/tutorial/without/"), holds("document.readyState === 'complete' && !document.querySelector('#learn')"))
	quiet(t, seen)
}

// A thousand pods come and go, a few in each frame, so the page does not stop for the reader.
func TestPanelOfAThousandPods(t *testing.T) {
	tab, s := openPanel(t, "running")
	// The panel draws for some milliseconds per frame. On a clock that moves when it is looked at, that is so many changes, whatever else the
	// machine does. How long the tasks took is printed.
	run(tab, t, chromedp.Evaluate(`window.longest = window.most = 0; let now = 0; performance.now = () => now += 0.1;
		new MutationObserver((changes) => { most = Math.max(most, changes.length); }).observe(document.querySelector('#learn .tree'), { childList: true, subtree: true });
		new PerformanceObserver((list) => { for (const task of list.getEntries()) longest = Math.max(longest, task.duration); }).observe({ type: 'longtask' })`, nil))
	state := stateOf(t, "running")
	replicas := object(state, 0, 0)
	show := func(n int, podState string) {
		t.Helper()
		var pods []any
		for i := range n {
			pods = append(pods, map[string]any{"id": fmt.Sprintf("many-%d", i), "kind": "Pod", "name": fmt.Sprintf("memcached-sample-6f7d5c9b8d-%05d", i), "state": podState, "health": "good",
				"conditions": []any{map[string]any{"type": "Ready", "status": "True", "since": time.Now().Format(time.RFC3339)}}})
		}
		replicas["children"] = pods
		s.show(t, state)
		run(tab, t, holds(fmt.Sprintf("[...document.querySelectorAll('[data-id=\"rs\"] > ul > li')].filter(li => li.querySelector('.state').textContent === %q).length === %d", podState, n)))
	}
	begun := time.Now()
	show(1000, "Pending")
	t.Logf("1000 pods show after %v", time.Since(begun))
	show(1000, "Running, ready")
	show(3, "Running, still")
	t.Logf("the longest task took %.0f ms", value[float64](tab, t, "longest"))
	if most := value[int](tab, t, "most"); most == 0 || most > 100 {
		t.Errorf("a frame has %d changes, expected at most 100", most)
	}
	replicas["more"] = 950
	show(3, "Running, again")
	run(tab, t, text(`[data-id="rs"]`, "and 950 more"))
}
