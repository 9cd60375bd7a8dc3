package funcs

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"github.com/lethe-iac/lethe/internal/limits"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// laugh returns a value that is small in memory, because its parts are shared. A function that walks through it visits
// 10^n elements.
func laugh(n int) cty.Value {
	v := cty.StringVal("ha")
	for range n {
		v = cty.TupleVal([]cty.Value{v, v, v, v, v, v, v, v, v, v})
	}
	return v
}

func laughObject(n int) cty.Value {
	v := cty.StringVal("ha")
	for range n {
		m := map[string]cty.Value{}
		for _, k := range "abcdefghij" {
			m[string(k)] = v
		}
		v = cty.ObjectVal(m)
	}
	return v
}

func gzipped(n int) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range n {
		w.Write(zeros)
	}
	w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestBombs checks that each of these calls fails, within a time limit and a gigabyte of memory.
func TestBombs(t *testing.T) {
	big := strings.Repeat("a", 10<<20)
	vars := map[string]cty.Value{
		"laugh":    laugh(10),
		"object":   laughObject(10),
		"big":      cty.StringVal(big),
		"list":     numbersUpTo(20_000),
		"gz":       cty.StringVal(gzipped(300)),
		"huge":     cty.MustParseNumberVal("1e600000000"),
		"tiny":     cty.MustParseNumberVal("1e-600000000"),
		"digits":   cty.StringVal(strings.Repeat("9", 1<<20)),
		"brackets": cty.StringVal(strings.Repeat("[", 1<<20)),
		"objects":  cty.StringVal(strings.Repeat(`{"a":`, 1<<20)),
		"commas":   cty.StringVal("[" + strings.Repeat("1,", 2<<20) + "1]"),
		"dashes":   cty.StringVal(strings.Repeat("- ", 20_000) + "a"),
		"stairs":   cty.StringVal(stairs(2000)),
		"anchors":  cty.StringVal(anchors()),
		"merges":   cty.StringVal(merges(5000)),
		"rows":     cty.StringVal("a,b\n" + strings.Repeat("1,2\n", 1<<20)),
		"parens":   cty.StringVal("${" + strings.Repeat("(", 1<<20)),
		"nots":     cty.StringVal("${" + strings.Repeat("!", 1<<20) + "true}"),
		"sums":     cty.StringVal("${1" + strings.Repeat("+1", 1<<19) + "}"),
		"ifs":      cty.StringVal(strings.Repeat("%{ if true }", 1<<16)),
		"quotes":   cty.StringVal(strings.Repeat(`${"`, 1<<16)),
		"asks":     cty.StringVal("${" + strings.Repeat("true ? 1 : ", 1<<16) + "1}"),
		"indexes":  cty.StringVal("${x" + strings.Repeat("[0]", 1<<16) + "}"),
		"value":    cty.StringVal("a${x}"),
		"loops":    cty.StringVal(`%{ for a in range(1000) }%{ for b in range(1000) }%{ for c in range(1000) }%{ for d in range(1000) }x%{ endfor }%{ endfor }%{ endfor }%{ endfor }`),
		"counts":   cty.StringVal(`${length([for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c if c > 2]]])}`),
		"texts":    cty.StringVal(strings.Repeat("${x}", 100)),
		"grows":    cty.StringVal(`%{ for a in range(1000) }${x}%{ endfor }`),
		"fails":    cty.StringVal(`%{ for a in range(1000) }%{ for b in range(1000) }${tonumber("x")}%{ endfor }%{ endfor }`),
		"selves":   cty.StringVal(`${templatestring(x, {x = x})}${templatestring(x, {x = x})}`),
		"tried":    cty.StringVal(`${try([for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c]]], "x")}%{ for a in range(2) }x%{ endfor }`),
	}
	bombs := []string{
		`range(1000000000)`, `range(0, 1e300, 1e-300)`, `range(tiny)`, `range(huge)`,
		`setproduct(list, list, list)`, `setproduct(list, list)`, `setproduct(toset(list), toset(list))`, `setproduct(laugh, laugh)`,
		`format("%1000000000d", 1)`, `format("%1000000000s", "a")`, `format("%.1000000000f", 1)`, `format("%99999999999999999999s", "a")`,
		`format("%d", huge)`, `format("%f", huge)`, `format("%v", [huge])`, `format("%v", tiny)`, `format("%v", laugh)`, `format("%s%s", laugh, laugh)`,
		`formatlist("%s", laugh)`, `formatlist("%1000000s", list)`, `formatlist(big, list)`, `formatlist("%s", [for x in list : big])`,
		`jsonencode(laugh)`, `jsonencode(object)`, `jsonencode(huge)`, `jsonencode([for i in list : big])`, `yamlencode(laugh)`, `yamlencode(huge)`,
		`contains([tiny], tiny)`, `contains([1], tiny)`, `index([tiny], tiny)`, `index([1], tiny)`, `toset([tiny, huge])`, `distinct([tiny, huge])`,
		`setunion([tiny])`, `templatestring(local.value, {x = tiny})`, `matchkeys([1], [tiny], [huge])`,
		`can(laugh)`, `can(tonumber(laugh))`, `try(tonumber(laugh), 1)`, `element(laugh, 1.5)`, `slice(laugh, 0.5, 1)`, `lookup(object, "z")`,
		`templatefile("data/just.tmpl", {y = laugh})`, `zipmap(["a"], laugh)`, `merge([laugh])`,
		`tostring(huge)`, `tostring(tiny)`, `tonumber(digits)`, `tolist([huge, "a"])`, `join("", [huge])`,
		`parseint(digits, 10)`, `parseint(big, 62)`, `sum([huge, tiny, 1])`, `cidrhost("::/0", huge)`, `cidrsubnet("::/0", 128, huge)`,
		`indent(1000000000, "\n\n\n\n")`, `indent(20000000, "a\nb\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n")`,
		`join(big, list)`, `join(",", [for x in list : big])`, `replace(big, "a", big)`, `replace(big, "", big)`, `replace(big, "/a/", "${big}$0")`,
		`replace(big, "/a*/", "$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0")`, `regexall("", big)`, `split("", big)`, `split("a", big)`,
		`flatten(laugh)`, `distinct(laugh)`, `tolist(laugh)`, `toset(laugh)`, `tomap(object)`, `coalesce(laugh, laugh)`,
		`coalesce(object, laugh)`, `contains(laugh, "a")`, `index(laugh, "a")`, `sort([for x in list : laugh])`, `setunion(laugh)`, `compact(laugh)`, `sum(laugh)`,
		`alltrue(laugh)`, `matchkeys(laugh, laugh, laugh)`, `transpose({a = laugh})`, `convert(laugh, list(any))`, `zipmap(laugh, laugh)`,
		`jsondecode(brackets)`, `jsondecode(objects)`, `jsondecode(commas)`, `jsondecode(digits)`, `yamldecode(brackets)`, `yamldecode(dashes)`, `yamldecode(stairs)`,
		`yamldecode(commas)`, `yamldecode(anchors)`, `yamldecode(merges)`, `csvdecode(rows)`, `base64gunzip(gz)`, `bcrypt("x", 31)`, `bcrypt("x", 17)`,
		`templatestring(local.parens, {})`, `templatestring(local.nots, {})`, `templatestring(local.sums, {})`, `templatestring(local.ifs, {})`,
		`templatestring(local.quotes, {})`, `templatestring(local.asks, {})`, `templatestring(local.indexes, {x = []})`,
		`templatestring(local.loops, {})`, `templatestring(local.counts, {})`, `templatestring(local.texts, {x = big})`, `templatestring(local.grows, {x = big})`,
		`templatestring(local.fails, {})`, `templatestring(local.selves, {x = local.selves})`, `templatestring(local.tried, {})`,
		`file("/dev/zero")`, `file("/dev/random")`, `filesha256("/dev/zero")`, `filebase64("${dir}/pipe")`, `file("${dir}/pipe")`, `file("${dir}/sparse")`,
		`filebase64("${dir}/sparse")`, `filemd5("${dir}/sparser")`, `templatefile("/dev/zero", {})`, `fileexists("/dev/zero")`,
		`templatefile("data/self.tmpl", {})`, `uuidv5(big, "x")`, `rsadecrypt("", big)`,
	}
	dir := t.TempDir()
	sparse(t, filepath.Join(dir, "sparse"), 300<<20)
	sparse(t, filepath.Join(dir, "sparser"), 1<<40)
	pipe(t, filepath.Join(dir, "pipe"))
	vars["dir"] = cty.StringVal(dir)
	vars["local"] = cty.ObjectVal(vars)
	ctx := &hcl.EvalContext{Functions: Table(&Env{BaseDir: "testdata"}), Variables: vars}
	longest := time.Minute // guards against hanging; it is not a measurement
	if raced {
		longest *= 10
	}
	for _, expr := range bombs {
		t.Run(expr, func(t *testing.T) {
			runtime.GC()
			start := time.Now()
			peak := watchHeap()
			v, diags := eval(ctx, expr)
			most := peak()
			took := time.Since(start)
			if !diags.HasErrors() {
				t.Fatalf("no error, but %s", v.Type().FriendlyName())
			}
			if took > longest {
				t.Errorf("took %s", took)
			}
			if most > 1<<30 && !raced {
				t.Errorf("%d MB in use", most>>20)
			}
			if len(diags[0].Detail) > 2000 || strings.Contains(diags[0].Detail, "goroutine") {
				t.Errorf("detail: %.2000s", diags[0].Detail)
			}
		})
	}
}

// watchHeap samples the size of the heap until the returned function is called. That function returns the greatest size
// seen.
func watchHeap() func() uint64 {
	stop, result := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-stop:
				result <- most
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-result
	}
}

func numbersUpTo(n int) cty.Value {
	vals := make([]cty.Value, n)
	for i := range vals {
		vals[i] = cty.NumberIntVal(int64(i))
	}
	return cty.ListVal(vals)
}

func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func anchors() string {
	var b strings.Builder
	b.WriteString("a0: &a0 ha\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

func merges(n int) string {
	var b strings.Builder
	b.WriteString("m0: &m0 {k: 1}\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "m%d: &m%d {<<: *m%d, k%d: 1}\n", i, i, i-1, i)
	}
	return b.String()
}

func sparse(t *testing.T, name string, size int64) {
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Skip("no sparse files here:", err)
	}
}

// TestLargeIsAllowed checks that large arguments below the limits work.
func TestLargeIsAllowed(t *testing.T) {
	ctx := &hcl.EvalContext{Functions: Table(&Env{}), Variables: map[string]cty.Value{
		"list": numbersUpTo(50_000),
		"big":  cty.StringVal(strings.Repeat("a", 10<<20)),
		"deep": cty.StringVal(strings.Repeat("[", 900) + strings.Repeat("]", 900)),
	}}
	for _, expr := range []string{
		`length(setproduct(list, [1, 2, 3]))`, `length(jsonencode(list))`, `length(yamldecode(yamlencode(list)))`, `length(tostring(1e300000))`,
		`length(jsondecode(deep))`, `length(yamldecode(deep))`, `length(replace(big, "a", "bb"))`, `length(formatlist("%s-%s", list, "x"))`,
		`length(base64gunzip(base64gzip(big)))`, `length(csvdecode("a,b\n${join("", [for x in list : "1,2\n"])}"))`,
		`length([for i in list : element(list, i)])`, `length([for i in list : lookup({a = list}, "a", list)])`, `length([for i in list : length(list)])`,
	} {
		if _, diags := eval(ctx, expr); diags.HasErrors() {
			t.Errorf("%s: %s", expr, diags)
		}
	}
}

// TestLimits checks that limits can be raised and lowered.
func TestLimits(t *testing.T) {
	rec := cty.StringVal(`${n == 0 ? "" : templatestring(rec, {rec = rec, n = n - 1})}`)
	for _, c := range []struct {
		limits limits.Limits
		expr   string
		ok     bool
	}{
		{limits.Limits{Elements: 10}, `flatten([1, 2, 3, 4, 5, 6, 7, 8, 9])`, true},
		{limits.Limits{Elements: 10}, `flatten([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])`, false},
		{limits.Limits{Elements: 9}, `setproduct([1, 2], [3])`, true},
		{limits.Limits{Elements: 9}, `setproduct([1, 2], [3, 4])`, false},
		{limits.Limits{Bytes: 100}, `indent(50, "a\nb")`, true},
		{limits.Limits{Bytes: 100}, `indent(99, "a\nb")`, false},
		{limits.Limits{Bytes: 100}, `file("data/hello.txt")`, true},
		{limits.Limits{Bytes: 10}, `file("data/hello.txt")`, false},
		{limits.Limits{Bytes: 1}, `filesha256("data/hello.txt")`, true},
		{limits.Limits{Nesting: 3}, `jsondecode("[[[]]]")`, true},
		{limits.Limits{Nesting: 3}, `jsondecode("[[[[]]]]")`, false},
		{limits.Limits{Templates: 3}, `templatestring(rec, {rec = rec, n = 2})`, true},
		{limits.Limits{Templates: 3}, `templatestring(rec, {rec = rec, n = 3})`, false},
		{limits.Limits{}, `templatestring(rec, {rec = rec, n = 1000})`, true},
		{limits.Limits{Templates: 2000}, `templatestring(rec, {rec = rec, n = 1500})`, true},
	} {
		ctx := &hcl.EvalContext{
			Functions: Table(&Env{BaseDir: "testdata", Limits: c.limits}),
			Variables: map[string]cty.Value{"rec": rec},
		}
		if _, diags := eval(ctx, c.expr); diags.HasErrors() == c.ok {
			t.Errorf("%+v: %s: %v", c.limits, c.expr, diags)
		}
	}
}
