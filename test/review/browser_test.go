package review

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/zclconf/go-cty/cty"
)

var update = flag.Bool("update", false, "write the pictures of the guide")

// browser starts Chromium once for all tests, and returns its context. It returns an error if Chromium is not
// installed.
var browser = sync.OnceValues(func() (context.Context, error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		return nil, fmt.Errorf("Chromium is not installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(ctx)
	quit = func() { end(); stop() }
	return ctx, chromedp.Run(ctx)
})

// quit ends the browser, if it was started.
var quit = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	quit()
	os.Exit(code)
}

// tab is a page in a tab of the browser.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	requests []string
	errors   []string
}

// open opens the page with a text in a new tab. At the end of the test it checks that the page requested nothing and
// reported no error. It skips the test if the browser does not start.
func open(t *testing.T, text string) *tab {
	t.Helper()
	parent, err := browser()
	if err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "plan.html")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, end := chromedp.NewContext(parent)
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	p := &tab{t: t, ctx: ctx, url: "file://" + file}
	chromedp.ListenTarget(ctx, p.listen)
	t.Cleanup(func() {
		stop()
		end()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, r := range p.requests {
			if !strings.HasPrefix(r, p.url) && !strings.HasPrefix(r, "data:") {
				t.Errorf("the page requests %s", r)
			}
		}
		for _, e := range p.errors {
			t.Errorf("the page reports: %s", e)
		}
	})
	p.run(network.Enable(), log.Enable(), runtime.Enable(), chromedp.Navigate(p.url))
	return p
}

// listen records the requests and the errors of the page.
func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *log.EventEntryAdded:
		p.errors = append(p.errors, e.Entry.Text)
	case *runtime.EventExceptionThrown:
		p.errors = append(p.errors, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		p.errors = append(p.errors, fmt.Sprint("console: ", e.Type))
	}
}

// run runs actions, and ends the test if they fail. After a navigation, an action can still reach the former document,
// which the browser is about to remove. In this case run repeats all actions.
func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	err := chromedp.Run(p.ctx, actions...)
	for err != nil && removed.MatchString(err.Error()) {
		err = chromedp.Run(p.ctx, actions...)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

var removed = regexp.MustCompile(`Cannot find context with specified id|Execution context was destroyed|Inspected target navigated or closed`)

// is evaluates an expression and compares its value.
func (p *tab) is(want any, expression string) {
	p.t.Helper()
	var got any
	p.run(chromedp.Evaluate(expression, &got))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("%s is %v, not %v", expression, got, want)
	}
}

// becomes waits until an expression is true.
func (p *tab) becomes(expression string) {
	p.t.Helper()
	p.run(chromedp.Poll(expression, nil))
}

// visible is an expression for the number of changes that are shown.
const visible = `[...document.querySelectorAll(".change")].filter(c => !c.hasAttribute("hidden") && !c.closest(".part[hidden]")).length`

// sample returns the review of a plan with several kinds of changes, and with hostile texts in keys, values and tags.
func sample(t *testing.T) *review.Review {
	old := object(map[string]cty.Value{"id": cty.StringVal("i-1"), "size": cty.NumberIntVal(1), "text": cty.StringVal("first\nsecond\nthird"), "password": cty.StringVal(canary)})
	new := object(map[string]cty.Value{"id": cty.StringVal("i-1"), "size": cty.NumberIntVal(2), "text": cty.StringVal("first\nother\nthird"), "password": cty.StringVal(canary + "2")})
	replaced := change(t, "test_thing.web[0]", plan.DeleteCreate, old, new)
	replaced.Why, replaced.Replace = plan.ReplaceCannotUpdate, []cty.Path{cty.GetAttrPath("size")}
	destroyed := change(t, "test_thing.database", plan.Delete, old, none())
	destroyed.Why = plan.DeleteNoResource
	list := []*plan.Change{replaced, destroyed, change(t, "module.net.test_other.needle", plan.Update, old, new)}
	for _, key := range []string{"a", "b", "c"} {
		list = append(list, change(t, `test_thing.equal["`+key+`"]`, plan.Update, old, new))
	}
	for i, text := range hostile {
		c := change(t, "test_thing.hostile", plan.Create, none(), object(map[string]cty.Value{"text": cty.StringVal(text), "tags": cty.MapVal(map[string]cty.Value{text[:min(len(text), 9000)]: cty.StringVal(text)})}))
		if len(text) < 100 {
			c.Object.Key = addr.StringKey(text)
		}
		c.Object.Name = fmt.Sprint("hostile", i)
		c.Was = c.Object
		list = append(list, c)
	}
	r := reviewed(list...)
	r.Plan.Leases = []plan.Lease{{Addr: "ephemeral.test.token", Receivers: []string{"provider.test"}}}
	return r
}

// TestPage clicks, searches, filters and folds on a page.
func TestPage(t *testing.T) {
	r := sample(t)
	p := open(t, pageOf(t, r))
	total := fmt.Sprint(4 + len(hostile)) // a group of equal changes counts once
	p.is(r.Counts.Text(), `document.querySelector("h1").textContent`)
	p.is(false, `document.title === "live"`)
	p.is(total, visible)
	p.is("test_thing.database", `document.querySelector("main .change").id`) // the first change is the most dangerous one
	p.is(true, `document.querySelector("main .change").open`)

	// Test the search.
	p.run(chromedp.SendKeys("#search", "needle"))
	p.becomes(visible + " === 1")
	p.is("1 of "+fmt.Sprint(len(r.Changes))+" changes shown", `document.getElementById("found").value`)
	p.is("until-found", `document.getElementById("test_thing.database").getAttribute("hidden")`)
	p.run(chromedp.SendKeys("#search", kb.Escape))
	p.becomes(visible + " === " + total)

	// Test the filters.
	for _, f := range []struct {
		name, value string
		want        int
	}{{"action", "destroy", 1}, {"module", "module.net", 1}, {"type", "test_other", 1}, {"provider", "test/test", 4 + len(hostile)}, {"module", "", 3 + len(hostile)}} {
		p.run(chromedp.Evaluate(fmt.Sprintf(`(s => { s.value = "=%s"; s.dispatchEvent(new Event("change")); })(document.querySelector("select[name=%s]"))`, f.value, f.name), nil))
		p.is(f.want, visible)
		p.run(chromedp.Click("#reset"))
		p.is(total, visible)
	}

	// Test folding and unfolding.
	p.run(chromedp.Click("#open"))
	p.is(total, `document.querySelectorAll(".change[open]").length`)
	p.run(chromedp.Click("#close"))
	p.is(0, `document.querySelectorAll(".change[open]").length`)

	// Test permanent links: to a change, and to a member of a group.
	for _, address := range []string{"test_thing.web[0]", `test_thing.equal["b"]`} {
		p.run(chromedp.Evaluate(fmt.Sprintf("location.hash = encodeURIComponent(%q)", address), nil))
		p.becomes(fmt.Sprintf(`document.getElementById(%q).closest(".change").open`, address))
	}
	p.is(true, `[...document.querySelectorAll("a[href^='#']")].every(a => document.getElementById(decodeURIComponent(a.getAttribute("href").slice(1))))`)
	p.is(true, `(ids => new Set(ids).size === ids.length)([...document.querySelectorAll("[id]")].map(e => e.id))`)
}

// TestKeyboard reaches and opens a change with the keyboard only.
func TestKeyboard(t *testing.T) {
	p := open(t, pageOf(t, sample(t)))
	p.run(chromedp.KeyEvent(kb.Tab))
	p.is("skip", "document.activeElement.className")
	p.run(chromedp.Click("#close"), chromedp.Evaluate(`document.querySelector("main summary").focus()`, nil), chromedp.KeyEvent(kb.Enter))
	p.is(true, `document.querySelector("main .change").open`)
	for range 40 {
		p.run(chromedp.KeyEvent(kb.Tab))
	}
	p.is(true, `document.activeElement.closest("main") !== null`)
}

// TestPrint checks that a printed page contains the closed changes.
func TestPrint(t *testing.T) {
	p := open(t, pageOf(t, sample(t)))
	p.run(emulation.SetEmulatedMedia().WithMedia("print"))
	p.is("visible", `getComputedStyle(document.querySelector(".change")).contentVisibility`)
	p.is("none", `getComputedStyle(document.getElementById("tools")).display`)
	p.run(chromedp.Evaluate(`dispatchEvent(new Event("beforeprint"))`, nil))
	p.is(0, `document.querySelectorAll(".change:not([open])").length`)
	p.run(chromedp.Evaluate(`dispatchEvent(new Event("afterprint"))`, nil))
	p.is(true, `document.querySelectorAll(".change:not([open])").length > 0`)
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, _, err := page.PrintToPDF().Do(ctx)
		return err
	}))
}

// TestWithoutScripts checks that a page is readable without its script and style, and that the policy refuses others.
func TestWithoutScripts(t *testing.T) {
	text := pageOf(t, sample(t))
	p := open(t, text)
	p.run(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(p.url+"?plain"))
	p.run(emulation.SetScriptExecutionDisabled(false))
	p.is(true, `document.getElementById("tools").hidden`)
	p.is(true, `document.getElementById("test_thing.database").open`)
	p.is(true, `document.body.innerText.includes("- destroy") && document.body.innerText.includes("-/+ replace")`)

	// The same page with another script and another style does not run them.
	changed := strings.Replace(text, `"use strict";`, `"use strict";document.title="live";`, 1)
	changed = strings.Replace(changed, "<style>", "<style>h1{color:rgb(1,2,3)}", 1)
	q := open(t, changed)
	q.is(false, `document.title === "live"`)
	q.is(false, `getComputedStyle(document.querySelector("h1")).color === "rgb(1, 2, 3)"`)
	q.mu.Lock()
	if len(q.errors) == 0 {
		t.Error("the policy reports nothing")
	}
	q.errors = nil
	q.mu.Unlock()
}

// TestFound checks that the browser's own search finds text in closed and in filtered changes. A text fragment in the
// URL uses the same search.
func TestFound(t *testing.T) {
	r := reviewed(change(t, "test_thing.haystack", plan.Create, none(), object(map[string]cty.Value{"text": cty.StringVal("needle")})))
	p := open(t, pageOf(t, r))
	p.is(false, `document.querySelector(".change").open`)
	p.run(chromedp.Navigate("data:text/html,"), chromedp.Navigate(p.url+"#:~:text=needle"))
	p.becomes(`document.querySelector(".change").open`)
}

// TestSchemes checks that the page has the colours of the user's scheme, and that both pass axe.
func TestSchemes(t *testing.T) {
	schemes(t, open(t, pageOf(t, sample(t))))
}

// schemes checks the colours of a page in both schemes, and that axe finds nothing. If axe is not available, it skips
// the rest of the test.
func schemes(t *testing.T, p *tab) {
	t.Helper()
	backs := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}
	axe, why := axeScript()
	for scheme, back := range backs {
		p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		p.is(back, "getComputedStyle(document.body).backgroundColor")
		if axe == "" {
			continue
		}
		p.run(chromedp.Evaluate(axe, nil))
		var found []string
		p.run(chromedp.Evaluate(`axe.run().then(r => r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(" ")))`, &found, func(e *runtime.EvaluateParams) *runtime.EvaluateParams {
			return e.WithAwaitPromise(true)
		}))
		for _, f := range found {
			t.Errorf("%s: %s", scheme, f)
		}
	}
	if axe == "" {
		t.Skip("axe-core is not available: ", why)
	}
}

// axeScript installs axe-core with npm once and returns its text, or the error if that fails.
var axeScript = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "axe")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", dir, "axe-core@4.14.1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	return string(text), err
})

// TestManyChanges opens a page of 5,000 changes, searches it with the page's own search and with the browser's, and
// prints it. Compared with 500 changes, it opens in proportional time.
func TestManyChanges(t *testing.T) {
	few, all := open(t, pageOf(t, many(t, 500))), open(t, pageOf(t, many(t, 5000)))
	quickest := map[*tab]float64{}
	for range 5 {
		for _, p := range []*tab{few, all} {
			var took float64
			p.run(chromedp.Navigate(p.url), chromedp.Evaluate(`performance.getEntriesByType("navigation")[0].loadEventEnd`, &took))
			if least, ok := quickest[p]; !ok || took < least {
				quickest[p] = took
			}
		}
	}
	t.Logf("500 changes opened in %.0f ms, 5,000 in %.0f ms", quickest[few], quickest[all])
	if quickest[all] > 20*quickest[few] {
		t.Errorf("10 times more changes take %.1f times longer", quickest[all]/quickest[few])
	}
	if os.Getenv("LETHE_LONG") != "" && quickest[all] > 1000 {
		t.Errorf("5,000 changes open in %.0f ms", quickest[all])
	}
	p := all
	p.is(5000, `document.querySelectorAll(".change").length`)
	p.run(chromedp.SendKeys("#search", "x[4321]"))
	p.becomes(visible + " === 1")

	// The browser's own search finds a closed change.
	p.run(chromedp.Navigate("data:text/html,"), chromedp.Navigate(p.url+"#:~:text=n4987"))
	p.becomes(`document.getElementById("module.m7.test_thing.x[4987]").open`)

	// The print has all changes with their differences. To print 5,000 changes, the browser needs a minute.
	printed, n := few, 500
	if os.Getenv("LETHE_LONG") != "" {
		printed, n = all, 5000
	}
	var pdf []byte
	printed.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = page.PrintToPDF().Do(ctx)
		return err
	}))
	if pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1)); pages < n/20 {
		t.Errorf("%d changes are printed on %d pages", n, pages)
	}
}

// TestSearchFacts checks that the search finds outputs, checks and leases, which are not changes.
func TestSearchFacts(t *testing.T) {
	r := sample(t)
	p := open(t, pageOf(t, r))
	const shown = `document.getElementById("heading-leases").closest(".part").hasAttribute("hidden")`
	for text, hidden := range map[string]bool{"ephemeral.test.token": false, "needle": true} {
		p.run(chromedp.Click("#reset"), chromedp.SendKeys("#search", text))
		p.becomes(fmt.Sprintf("%s === %t", shown, hidden))
	}
	p.run(chromedp.Click("#reset"), chromedp.Evaluate(`(s => { s.value = "=destroy"; s.dispatchEvent(new Event("change")); })(document.querySelector("select[name=action]"))`, nil))
	p.is(true, shown)
}

// TestManyDangers checks that many destroyed objects are closed, and that their reasons are visible.
func TestManyDangers(t *testing.T) {
	var list []*plan.Change
	for i := range 9 {
		c := change(t, fmt.Sprintf("test_thing.x%d", i), plan.Delete, object(nil), none())
		c.Why = plan.DeleteNoResource
		list = append(list, c)
	}
	p := open(t, pageOf(t, reviewed(list...)))
	p.is(0, `document.querySelectorAll(".change[open]").length`)
	p.is(9, `[...document.querySelectorAll("summary .why")].filter(e => e.checkVisibility() && e.textContent.includes("is not in configuration")).length`)
}

// guide is a configuration before and after a change.
var guide = [2]string{`locals {
  image = "v1"
}
resource "terraform_data" "web" {
  count            = 2
  input            = { image = local.image, port = 80 }
  triggers_replace = local.image
}
resource "terraform_data" "database" {
  input = "orders"
}
resource "terraform_data" "user" {
  for_each = toset(["ada", "alan", "grace"])
  input    = "group: staff\nshell: sh\n"
}
`, `locals {
  image = "v2"
}
resource "terraform_data" "web" {
  count            = 2
  input            = { image = local.image, port = 80 }
  triggers_replace = local.image
}
resource "terraform_data" "user" {
  for_each = toset(["ada", "alan", "grace"])
  input    = "group: staff\nshell: bash\n"
}
`}

// program returns the path of the program under test: the program in LETHE_BIN, or a new build if that is not set.
func program(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("LETHE_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "lethe")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/lethe")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// TestProgram opens the page of a plan that the program made.
func TestProgram(t *testing.T) {
	bin, dir := program(t), t.TempDir()
	for i, args := range [][]string{{"apply", "-auto-approve"}, {"plan", "-html=plan.html"}} {
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(guide[i]), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bin, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "plan.html"))
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, string(text))
	p.is("0 to add, 3 to change, 2 to replace, 1 to destroy", `document.querySelector("h1").textContent`)
	p.is(true, `document.body.innerText.includes("triggers_replace ← local.image")`)
}
