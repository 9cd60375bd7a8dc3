package funcs

import (
	"fmt"
	"github.com/lethe-iac/lethe/internal/limits"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// reasonOf returns the error of the function itself, without the text that the evaluator adds. It returns false for a
// diagnostic that is not about an error of a function.
func reasonOf(d *hcl.Diagnostic) (string, bool) {
	extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	if !ok || extra.FunctionCallError() == nil {
		return "", false
	}
	return extra.FunctionCallError().Error(), true
}

// tree creates files and directories in a temporary directory, and returns its path. A name that ends in / is a
// directory; a name with -> is a symbolic link. If one cannot be created, tree skips the test.
func tree(t *testing.T, names ...string) string {
	dir := t.TempDir()
	for _, name := range names {
		var err error
		link, target, isLink := strings.Cut(name, " -> ")
		switch path := filepath.Join(dir, link); {
		case isLink:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
				err = os.WriteFile(path, []byte(name), 0o644)
			}
		}
		if err != nil {
			t.Skip("cannot make", name, err)
		}
	}
	return dir
}

func TestFileSetOfLinks(t *testing.T) {
	dir := tree(t, "real/x/f.txt", ".h/z", "a[b]/g.txt", "link -> real", "flink -> real/x/f.txt", "broken -> nowhere", "real/loop -> ..", "real/x/self -> .", "~/home.txt")
	pipe(t, filepath.Join(dir, "pipe"))
	ctx := &hcl.EvalContext{Functions: Table(&Env{BaseDir: dir})}
	for expr, want := range map[string]string{
		`fileset(".", "*")`:               `flink`,
		`fileset(".", "*/x/f.txt")`:       `link/x/f.txt real/x/f.txt`,
		`fileset(".", "{real,link}/x/*")`: `link/x/f.txt real/x/f.txt`,
		`fileset("link", "**")`:           `x/f.txt`,
		`fileset(".", "**/z")`:            `.h/z`,
		`fileset(".", "**/f.txt")`:        `link/x/f.txt real/x/f.txt`,
		`fileset("a[b]", "*")`:            `g.txt`,
		`fileset(".", "a\\[b\\]/*")`:      `a[b]/g.txt`,
		`fileset(".", "broken")`:          ``,
		`fileset("real", "../link/x/*")`:  `../link/x/f.txt`,
		`fileset("real", "/x/*")`:         `x/f.txt`,
		`fileset("nowhere", "*")`:         ``,
		`fileset(".", "[^r]*")`:           `flink`,
		`fileset(".", "")`:                ``,
		`fileset("~", "*")`:               `home.txt`, // fileset does not replace ~ by the home directory
		`fileset("~/", "h*")`:             `home.txt`,
		`fileset("~nobody", "*")`:         ``,
	} {
		v, diags := eval(ctx, `join(" ", `+expr+`)`)
		if diags.HasErrors() {
			t.Errorf("%s: %s", expr, diags)
		} else if v.AsString() != want {
			t.Errorf("%s: %s, want %s", expr, v.AsString(), want)
		}
	}
}

// TestFileSetOfEverything checks that a pattern that visits a whole file system fails quickly.
func TestFileSetOfEverything(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	ctx := &hcl.EvalContext{Functions: Table(&Env{Limits: limits.Limits{Elements: 20_000}})}
	for _, expr := range []string{`fileset("/proc", "**/nosuch")`, `fileset("/", "**")`, `fileset("/", "*/*/*/*/*/*")`} {
		if got := outcome(ctx, expr); !strings.Contains(got, "too many") {
			t.Errorf("%s: %.200s", expr, got)
		}
	}
	if got := outcome(ctx, `length(fileset("/proc/self", "root/**/nosuch"))`); strings.HasPrefix(got, "!!") {
		t.Error(got)
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	dir := tree(t, "f", "d/", "link -> f")
	pipe(t, filepath.Join(dir, "pipe"))
	ctx := &hcl.EvalContext{Functions: Table(&Env{BaseDir: dir})}
	for expr, want := range map[string]string{
		`file("link")`:       `"f"`,
		`file("pipe")`:       `! failed to read file: read pipe: is a named pipe, not a regular file`,
		`filemd5("pipe")`:    `! read pipe: is a named pipe, not a regular file`,
		`file("/dev/null")`:  `""`,
		`file("/dev/zero")`:  `! failed to read file: read /dev/zero: is a device node, not a regular file`,
		`file("d")`:          `! failed to read file: read d: is a directory`,
		`fileexists("pipe")`: `! "pipe" is a named pipe, not a regular file`,
		`fileexists("f/x")`:  `false`,
		`file("f/x")`:        `! failed to read file: open f/x: not a directory`,
		`file("~nobody/x")`:  `! failed to read file: cannot expand user-specific home dir`,
	} {
		if got := outcome(ctx, expr); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
}

// TestObserve checks that known results of file functions are reported with their marks, so that plan and apply can be
// compared. Unknown results and errors are not reported.
func TestObserve(t *testing.T) {
	dir := tree(t, "f", "t.tmpl")
	var mu sync.Mutex
	var seen []string
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"s": mark.With(cty.StringVal("f"), mark.Sensitive, nil), "u": cty.UnknownVal(cty.String)},
		Functions: Table(&Env{BaseDir: dir, Observe: func(name string, args []cty.Value, result cty.Value) error {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, strings.TrimSpace(fmt.Sprintln(name, len(args), mark.Is(args[0], mark.Sensitive), mark.Is(result, mark.Sensitive))))
			return nil
		}})}
	for _, expr := range []string{
		`file("f")`, `core::file(s)`, `filebase64("f")`, `filesha1("f")`, `fileexists("f")`, `fileset(".", "*")`, `templatefile("t.tmpl", {})`,
		`file(u)`, `file("nosuch")`, `templatefile("t.tmpl", u)`, `upper("f")`, `basename("f")`,
	} {
		_, _ = eval(ctx, expr)
	}
	want := "file 1 false false; file 1 true true; filebase64 1 false false; filesha1 1 false false; " +
		"fileexists 1 false false; fileset 2 false false; templatefile 2 false false"
	if got := strings.Join(seen, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestConcurrentCalls checks that many goroutines can call functions of one table.
func TestConcurrentCalls(t *testing.T) {
	ctx := peerContext(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, expr := range []string{`templatefile("data/outer.tmpl", {y = 5})`, `fileset("data", "**")`, `jsonencode(toset(["b", "a"]))`} {
				if _, diags := eval(ctx, expr); diags.HasErrors() {
					t.Error(diags)
				}
			}
		})
	}
	wg.Wait()
}

func TestTemplates(t *testing.T) {
	dir := tree(t, "dir/")
	for name, text := range map[string]string{
		"plain": "Hi ${name}", "loop": "%{ for i, v in list ~}\n${i}=${v}\n%{ endfor ~}\n", "cond": "%{ if on }yes%{ else }no%{ endif }",
		"outer": `<${templatefile("plain", {name = x})}>`, "typo": "${uper(x)}", "fails": "a\n  ${tonumber(x)}", "core": `${core::templatestring(x, {y = 1})}`,
		"escape": "$${x} %%{ if }", "unused": "text", "value": "${x}", "catch": `${try(templatefile("nosuch", {}), "none")}`,
		"many":  "%{ for i in range(1000) }${templatefile(\"plain\", {name = i})}%{ endfor }",
		"longs": "${" + strings.Repeat("x + ", 400) + "x}",
		"lines": "${jsonencode({\n" + strings.Repeat("  a = 1 + 1\n", 1) + "})}" + strings.Repeat("${x}\n", 2000),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx := &hcl.EvalContext{Functions: Table(&Env{BaseDir: dir})}
	for expr, want := range map[string]string{
		`templatefile("plain", {name = "Bo"})`:                    `"Hi Bo"`,
		`templatefile("loop", {list = ["a", "b"]})`:               `"0=a\n1=b\n"`,
		`templatefile("cond", {on = false})`:                      `"no"`,
		`templatefile("outer", {x = "Bo"})`:                       `"<Hi Bo>"`,
		`templatefile("typo", {x = "a"})`:                         `! typo:1,3-7: Call to unknown function; There is no function named "uper". Did you mean "upper"?`,
		`templatefile("fails", {x = "a"})`:                        `! fails:2,14-15: Invalid function argument; Invalid value for "v" parameter: cannot convert "a" to number; given string must be a decimal representation of a number.`,
		`templatefile("core", {x = "$${y}"})`:                     `"1"`,
		`templatefile("escape", {})`:                              `"${x} %{ if }"`,
		`templatefile("unused", {x = 1})`:                         `"text"`,
		`templatefile("value", {x = 5})`:                          `5`,
		`templatefile("catch", {})`:                               `"none"`,
		`length(templatefile("many", {}))`:                        `5890`,
		`templatefile("longs", {x = 1})`:                          `401`,
		`length(templatefile("lines", {x = "y"}))`:                `4007`,
		`templatefile("dir", {})`:                                 `! failed to read file: read dir: is a directory`,
		`upper(templatefile("plain", {name = try(nosuch, "z")}))`: `"HI Z"`,
	} {
		if got := outcome(ctx, expr); got != want {
			t.Errorf("%s\n got  %s\n want %s", expr, got, want)
		}
	}
}
