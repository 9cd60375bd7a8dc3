package view

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
)

const source = `variable "x" { default = "abc" }
# resource "not" "this" {
resource "terraform_data" "a" {
  input = upper(
    var.x,
	1
  )
  text = "${ { a = "}" }.a } {" // {
  doc  = <<-EOT
    } {
  EOT
}
check "c" {
  assert {
    condition = var.x == "q"
  }
}
locals { wide = "日本" + bad }
module m {
  source = "./m"
}
`

func sourcesOf(name, text string) *diag.Sources {
	s := &diag.Sources{}
	s.Set(name, []byte(text))
	return s
}

// at returns the range of text in the source.
func at(t *testing.T, text string) diag.Range {
	t.Helper()
	i := strings.Index(source, text)
	if i < 0 {
		t.Fatalf("no %q", text)
	}
	return diag.Range{Filename: "main.tf", Start: posAt(i), End: posAt(i + len(text))}
}

func posAt(i int) diag.Pos {
	before := source[:i]
	return diag.Pos{Byte: i, Line: 1 + strings.Count(before, "\n"), Column: 1 + len([]rune(before[strings.LastIndex(before, "\n")+1:]))}
}

// checkGolden compares got with a file in testdata.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s: -want +got:\n%s", name, lineDiff(string(want), got))
	}
}

var _ = flag.Lookup

// manyDiagnostics returns a diagnostic of every kind.
func manyDiagnostics(t *testing.T) []diag.Diagnostic {
	whole := at(t, "upper(\n    var.x,\n\t1\n  )")
	one := func(summary, detail, text string) diag.Diagnostic {
		return diag.Errorf(summary, "%s", detail).At(at(t, text))
	}
	withContext := one("Too many function arguments", `Function "upper" expects only 1 argument(s).`, "1")
	withContext.Subject.Start = posAt(strings.Index(source, "\t1\n") + 1)
	withContext.Subject.End = posAt(strings.Index(source, "\t1\n") + 2)
	withContext.Context = &whole
	withContext.Values = []diag.Value{{Traversal: "var.x", Statement: `is "abc"`}, {Traversal: "upper", Statement: "is a function"}}
	about := one("Creating failed", "create of \"a\" failed", "{\n  input")
	about.Subject.End = posAt(about.Subject.Start.Byte + 1)
	about.Address = "terraform_data.a"
	check := one("Check block assertion failed", "no", `var.x == "q"`)
	check.Severity = diag.Warning
	check2 := check
	check2.Detail = "no again"
	multi := one("Spread over lines", "Several lines are marked.", "upper(\n    var.x,\n\t1\n  )")
	related := one("Declared twice", "There is one already.", `var.x,`).See("declared here", at(t, `variable "x"`))
	wide := one("Wide", "Carets stand under wide characters.", `"日本"`)
	tabbed := one("After a tab", "Carets stand where the text stands.", "1\n")
	tabbed.Subject.End = posAt(tabbed.Subject.Start.Byte + 1)
	nowhere := diag.Errorf("Nowhere", "First paragraph.\n\n  preformatted line\n  - item\n\nLast.").At(diag.Range{Filename: "other.tf", Start: diag.Pos{Line: 7, Column: 3, Byte: 70}, End: diag.Pos{Line: 7, Column: 4, Byte: 71}})
	var out []diag.Diagnostic
	out = append(out, withContext, about, check, check2, multi, related, wide, tabbed, nowhere, diag.Errorf("Only a title", ""), diag.Errorf("A title\nof \x1b[31mthree\n\n  lines", ""), diag.Warningf("Without a place", "But with a detail."))
	for _, a := range []string{"a.a", "a.b", "a.c"} {
		d := one("Same thing", "It happens again and again.", "source")
		d.Address = a
		out = append(out, d)
	}
	for _, a := range []string{"a.a", "a.b"} {
		d := one("Deprecated", "Detail of "+a+".", "source")
		d.Address, d.Severity = a, diag.Warning
		out = append(out, d)
	}
	instances := one("In instances", "Each of them says it.", "var.x,")
	instances.Values, instances.Others = []diag.Value{{Traversal: "count.index", Statement: "is 0"}}, 11
	elsewhere := one("In instances", "Each of them says it.", `var.x == "q"`)
	elsewhere.Values = instances.Values
	out = append(out, instances, elsewhere)
	bad := diag.Errorf("Control \x1b[31m characters", "Escape \x1b]0;title\x07, C1 \u009b31m, bidi \u202eabc, NUL \x00, CR \r, not UTF-8 \xff.")
	bad.Address = "a.b[\"\x1b[2J\"]"
	return append(out, bad)
}

func TestDiagnosticsText(t *testing.T) {
	for name, o := range map[string]Options{
		"boxed.txt":  {},
		"plain.txt":  {Plain: true},
		"color.txt":  {Color: true},
		"narrow.txt": {Width: 40},
	} {
		o.Sources = sourcesOf("main.tf", source)
		out, errOut := humanOutput(o, func(h *Human) { h.Diagnostics(manyDiagnostics(t)) })
		text := "=== stdout\n" + out + "=== stderr\n" + errOut
		checkGolden(t, "diagnostics/"+name, strings.ReplaceAll(text, "\x1b", "␛"))
	}
}

func TestDiagnosticsAreShownOnce(t *testing.T) {
	d := diag.Errorf("A", "b")
	_, errOut := humanOutput(Options{}, func(h *Human) {
		h.Diagnostics([]diag.Diagnostic{d})
		h.Diagnostics([]diag.Diagnostic{d})
	})
	if strings.Count(errOut, "Error: A") != 1 {
		t.Error(errOut)
	}
}

func TestCompactWarnings(t *testing.T) {
	o := Options{Compact: true, Sources: sourcesOf("main.tf", source)}
	warnings := []diag.Diagnostic{
		diag.Warningf("One", "detail").At(at(t, "source")),
		diag.Warningf("Two", "detail"),
		diag.Warningf("Two", "other detail").At(at(t, "upper")),
	}
	out, errOut := humanOutput(o, func(h *Human) { h.Diagnostics(warnings) })
	want := "\nWarnings:\n\n- One\n  on main.tf line 2\n- Two\n\nTo see the full warning notes, run Lethe without -compact-warnings.\n"
	if diff := cmp.Diff(want, out); diff != "" || errOut != "" {
		t.Error(diff, errOut)
	}
	out, errOut = humanOutput(o, func(h *Human) { h.Diagnostics(append(warnings, diag.Errorf("Error", ""))) })
	if !strings.Contains(out, "Warning: One") || !strings.Contains(errOut, "Error: Error") {
		t.Error("with an error, all is shown in full:", out, errOut)
	}
}

func TestDiagnosticsJSON(t *testing.T) {
	var b strings.Builder
	if err := WriteValidateJSON(&b, manyDiagnostics(t), Options{Sources: sourcesOf("main.tf", source)}); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "diagnostics/validate.json", b.String())
	var doc struct {
		Valid       bool
		ErrorCount  int `json:"error_count"`
		WarnCount   int `json:"warning_count"`
		Diagnostics []struct {
			Snippet *struct {
				Code       string
				Start, End int
				From       int `json:"highlight_start_offset"`
				To         int `json:"highlight_end_offset"`
			}
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Valid || doc.ErrorCount+doc.WarnCount != len(doc.Diagnostics) {
		t.Errorf("%+v", doc)
	}
	if s := doc.Diagnostics[0].Snippet; s.Code[s.From:s.To] != "1" {
		t.Errorf("%+v", s)
	}
}

func TestValidJSON(t *testing.T) {
	var b strings.Builder
	if err := WriteValidateJSON(&b, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"format_version\": \"1.0\",\n  \"valid\": true,\n  \"error_count\": 0,\n  \"warning_count\": 0,\n  \"diagnostics\": []\n}\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestContext(t *testing.T) {
	s := sourcesOf("main.tf", source)
	for text, want := range map[string]string{
		`default`:       `variable "x"`,
		`var.x,`:        `resource "terraform_data" "a"`,
		`text`:          `resource "terraform_data" "a"`,
		"    } {":       `resource "terraform_data" "a"`,
		`var.x == "q"`:  `check "c"`,
		`bad`:           `locals`,
		`./m`:           `module "m"`,
		`variable "x"`:  "", // the header is not inside its block
		`"terraform_`:   `resource "terraform_data" "a"`,
		`# resource`:    "",
		`resource "ter`: "",
	} {
		r := at(t, text)
		if got, _ := s.Snippet(r, nil); got.Context != want {
			t.Errorf("%s: %q, not %q", text, got.Context, want)
		}
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add(source, 10, 20, 0, 0)
	f.Add("a \"${\"${\"", 3, 4, 1, 9)
	f.Add("x = <<EOT\n", 3, 4, 1, 9)
	f.Fuzz(func(t *testing.T, src string, start, end, from, to int) {
		s := sourcesOf("x.tf", src)
		r := diag.Range{Filename: "x.tf", Start: diag.Pos{Line: 1, Byte: start}, End: diag.Pos{Line: 1, Byte: end}}
		ctx := diag.Range{Filename: "x.tf", Start: diag.Pos{Byte: from}, End: diag.Pos{Byte: to}}
		for _, c := range []*diag.Range{nil, &ctx} {
			sn, ok := s.Snippet(r, c)
			if !ok {
				continue
			}
			if sn.Start < 0 || sn.End < sn.Start || sn.End > len(sn.Code) || !strings.Contains(src, sn.Code) {
				t.Fatalf("%+v", sn)
			}
			_ = sn.Code[sn.Start:sn.End]
		}
		d := diag.Errorf("x", "").At(r)
		d.Context = &ctx
		out, errOut := humanOutput(Options{Sources: sourcesOf("x.tf", src)}, func(h *Human) { h.Diagnostics([]diag.Diagnostic{d}) })
		checkSafe(t, out+errOut)
	})
}
