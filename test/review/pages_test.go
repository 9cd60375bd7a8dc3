package review

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/timing"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/graphview"
	"github.com/lethe-iac/lethe/internal/view/historypage"
	"github.com/lethe-iac/lethe/internal/view/timeline"
)

// scrub replaces the canary, as the program masks secrets.
func scrub(s string) string { return strings.ReplaceAll(s, canary, "(hidden)") }

// names returns hostile names with at most 200 bytes, a secret and a plain name.
func names() []string {
	var out []string
	for _, name := range hostile {
		out = append(out, name[:min(len(name), 200)])
	}
	return append(out, canary, "test_thing.web")
}

// clean checks that a page has no canary, and no text of the hostile names as markup.
func clean(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, canary) {
		t.Error("the page contains a secret")
	}
	if strings.Count(text, "<script>") > 1 || strings.Contains(text, "<img") {
		t.Error("a text of a name is markup")
	}
}

// plain opens a page without its script, and returns its text.
func plain(t *testing.T, text string) string {
	t.Helper()
	p := open(t, text)
	p.run(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(p.url+"?plain"))
	p.run(emulation.SetScriptExecutionDisabled(false))
	var shown string
	p.run(chromedp.Evaluate("document.body.innerText", &shown))
	return shown
}

// hostileRun returns a run with all kinds of spans, and hostile names.
func hostileRun() *timing.Run {
	r := &timing.Run{Command: "apply", Began: time.Now(), Took: 10 * time.Second, Parallelism: 2, Interrupted: true, Bound: 3 * time.Second}
	r.Phases = []timing.Span{{Kind: timing.Phase, Name: "plan", Ended: time.Second}, {Kind: timing.Phase, Name: "apply", Began: time.Second, Ended: 10 * time.Second}}
	for i, name := range names() {
		at := time.Duration(i) * 8 * time.Second / time.Duration(len(names()))
		r.Rows = append(r.Rows, timing.Row{Name: name, Walk: "apply", After: name, Ready: at, Began: at + 100*time.Millisecond, Ended: at + time.Second, Critical: i%2 == 0, Failed: i%3 == 0, Spans: []timing.Span{
			{Kind: timing.Configure, Name: name, Began: at + 100*time.Millisecond, Ended: at + 200*time.Millisecond},
			{Kind: timing.Limit, Name: "-parallelism", Began: at + 200*time.Millisecond, Ended: at + 300*time.Millisecond},
			{Kind: timing.Wait, Name: name, Began: at + 300*time.Millisecond, Ended: at + 400*time.Millisecond},
			{Kind: timing.Call, Name: "create", Began: at + 400*time.Millisecond, Ended: at + time.Second},
		}})
		r.Chain = append(r.Chain, timing.Link{Name: name, Walk: "apply", Took: time.Second})
		r.Types = append(r.Types, timing.TypeTime{Type: name, Calls: i, Total: time.Second})
		r.Leases = append(r.Leases, timing.Window{Name: name, Ended: time.Second, Open: true})
		r.Starts = append(r.Starts, timing.Span{Kind: timing.Start, Name: name, Ended: time.Second})
	}
	r.Running = []timing.Level{{At: 0, N: 2}, {At: 10 * time.Second, N: 0}}
	return r
}

// TestTimeline opens the page of a run. It has no script.
func TestTimeline(t *testing.T) {
	var b bytes.Buffer
	if err := timeline.Write(&b, hostileRun(), timeline.Options{Product: "Lethe", Scrub: scrub}); err != nil {
		t.Fatal(err)
	}
	clean(t, b.String())
	p := open(t, b.String())
	p.is(0, "document.scripts.length")
	p.is(false, `document.title === "live"`)
	p.is(true, `document.querySelectorAll("#chart ~ .scroll rect").length > 40`)
	p.is(true, `[...document.querySelectorAll("rect")].every(r => r.getBBox().width > 0 && r.getBBox().x >= 0 && r.getBBox().x + r.getBBox().width <= 1001)`)
	schemes(t, p)
	if text := plain(t, b.String()); !strings.Contains(text, "cannot take less than 3.0 s") || !strings.Contains(text, "test_thing.web") {
		t.Errorf("without scripts: %s", text)
	}
}

// drawn returns a drawing with hostile names, all actions, leases and nested modules.
func drawn() *graphview.Drawing {
	d := &graphview.Drawing{}
	for i, name := range names() {
		for m := range 3 {
			path := []string{"module.a", "module.a.module.b"}[:m]
			n := graphview.Node{Name: fmt.Sprint(m, name), Label: name, Module: path, Lease: i == 1, Action: []string{"", "create", "update", "replace", "delete", "read"}[i%6]}
			d.Nodes = append(d.Nodes, n)
			if k := len(d.Nodes) - 1; k > 0 {
				d.Edges = append(d.Edges, [2]int{k, k - 1}, [2]int{k, 0})
			}
		}
	}
	return d
}

// TestGraph opens the page of a graph, folds its modules, and follows a reference.
func TestGraph(t *testing.T) {
	d := drawn()
	var b bytes.Buffer
	if err := graphview.Page(&b, d, graphview.Options{Title: "Graph", Scrub: scrub}); err != nil {
		t.Fatal(err)
	}
	clean(t, b.String())
	p := open(t, b.String())
	p.is(false, `document.title === "live"`)
	p.is(len(d.Nodes), `document.querySelectorAll("#graph .node").length`)
	p.becomes(`document.querySelectorAll("#edges path").length > 30`)
	p.is(true, `[...document.querySelectorAll("#edges path")].every(e => !e.getAttribute("d").includes("NaN"))`)
	schemes(t, p)
	var all int
	p.run(chromedp.Evaluate(`document.querySelectorAll("#edges path").length`, &all))
	p.run(chromedp.Click("#close"))
	p.becomes(`document.querySelectorAll("#graph details[open]").length === 0`)
	p.becomes(fmt.Sprintf(`document.querySelectorAll("#edges path").length < %d`, all))
	p.run(chromedp.Click("#open"))
	p.becomes(fmt.Sprintf(`document.querySelectorAll("#edges path").length === %d`, all))
	p.run(chromedp.Evaluate(`document.querySelector("#n0 a").focus()`, nil))
	p.becomes(`document.querySelectorAll("#edges path.near").length > 0`)
	p.is(true, `[...document.querySelectorAll("a[href^='#']")].every(a => document.getElementById(a.getAttribute("href").slice(1)))`)
	if text := plain(t, b.String()); !strings.Contains(text, "refers to") || !strings.Contains(text, "test_thing.web") {
		t.Errorf("without scripts: %s", text)
	}
	var image bytes.Buffer
	if err := graphview.SVG(&image, d, scrub); err != nil {
		t.Fatal(err)
	}
	clean(t, image.String())
}

// TestLargeGraph opens a graph of 5,000 declarations, whose modules are folded.
func TestLargeGraph(t *testing.T) {
	d := &graphview.Drawing{}
	for i := range 5000 {
		m := fmt.Sprintf("module.m%d", i/100)
		d.Nodes = append(d.Nodes, graphview.Node{Name: fmt.Sprintf("%s.test_thing.n%d", m, i), Label: fmt.Sprintf("test_thing.n%d", i), Module: []string{m}})
		if i > 0 {
			d.Edges = append(d.Edges, [2]int{i, i - 1}, [2]int{i, i / 2})
		}
	}
	var b bytes.Buffer
	if err := graphview.Page(&b, d, graphview.Options{Title: "Graph"}); err != nil {
		t.Fatal(err)
	}
	p := open(t, b.String())
	p.is(50, `document.querySelectorAll("#graph details:not([open])").length`)
	p.becomes(`document.querySelectorAll("#edges path").length > 49`)
}

// TestHistory opens the page of a history.
func TestHistory(t *testing.T) {
	before := &state.Snapshot{}
	edit := before.Edit()
	for _, name := range names() {
		o := addr.Object{}
		o.Mode, o.Type, o.Name, o.Key = addr.Managed, "test_thing", "web", addr.StringKey(name)
		edit.Put(o, &state.Entry{})
	}
	after := edit.Done()
	list := []historypage.Writing{
		{Past: store.Past{Serial: 2, Time: time.Now(), Who: hostile[0], Operation: "OperationTypeApply"}, Changes: view.NewStateDifference(before, after)},
		{Past: store.Past{Serial: 1, Time: time.Now()}},
	}
	var b bytes.Buffer
	if err := historypage.Write(&b, list, historypage.Options{Workspace: hostile[0], Scrub: scrub}); err != nil {
		t.Fatal(err)
	}
	clean(t, b.String())
	p := open(t, b.String())
	p.is(0, "document.scripts.length")
	p.is(len(names()), `document.querySelectorAll("#s2 li").length`)
	p.is(true, `[...document.querySelectorAll("a[href^='#']")].every(a => document.getElementById(a.getAttribute("href").slice(1)))`)
	schemes(t, p)
	if text := plain(t, b.String()); !strings.Contains(text, "Serial 2 (now)") || !strings.Contains(text, "apply") {
		t.Errorf("without scripts: %s", text)
	}
}

// TestTimings opens the page of the run of the guide page that the program made.
func TestTimings(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/find-out-why-a-run-is-slow.md")
	if err != nil {
		t.Fatal(err)
	}
	main := regexp.MustCompile("(?s)```terraform main.tf\n(.*?)```").FindSubmatch(page)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), main[1], 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program(t), "apply", "-auto-approve", "-parallelism=1", "-timings=apply.html")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "apply.html"))
	if err != nil {
		t.Fatal(err)
	}
	open(t, string(text)).is(true, `document.body.innerText.includes("terraform_data.server[2]")`)
}
