package funcs

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// growing lists calls whose work must grow with the number of elements and not with its square.
var growing = []string{
	`flatten(nested)`, `flatten(tuple)`, `keys(map)`, `keys(object)`, `values(map)`, `values(object)`, `sort(list)`, `sort(tuple)`, `distinct(list)`,
	`distinct(tuple)`, `distinct(objects)`, `setunion(set, set)`, `setunion(tuple, list)`, `setintersection(set, set)`, `setsubtract(set, set)`,
	`contains(list, "no")`, `contains(set, "no")`, `index(list, last)`, `merge(map, map)`, `merge(object, {a = 1})`, `zipmap(list, list)`,
	`zipmap(tuple, tuple)`, `transpose(lists)`, `setproduct(list, ["a", "b"])`, `setproduct(set, ["a", "b"])`, `toset(tuple)`, `toset(objects)`,
	`tolist(tuple)`, `tolist(objects)`, `tolist(mixed)`, `tolist(set)`, `tomap(object)`, `compact(tuple)`, `concat(list, tuple)`, `reverse(tuple)`,
	`chunklist(tuple, 10)`, `join(",", tuple)`, `join(",", set)`, `formatlist("%s-%d", tuple, numbers)`, `jsonencode(objects)`, `jsondecode(json)`,
	`yamlencode(tuple)`, `csvdecode(csv)`, `matchkeys(list, list, list)`, `coalesce(tuple, list)`, `alltrue(bools)`, `sum(numbers)`, `max(numbers...)`,
	`split(",", csv)`, `convert(objects, list(object({a = string, b = optional(number)})))`, `length([for i, v in list : element(list, i)])`,
	`length([for v in list : contains(set, v)])`, `length([for v in list : lookup(map, v, "")])`, `length([for v in list : length(objects)])`,
	`length([for v in list : try(map[v], "")])`, `nonsensitive(sensitive(objects))`, `templatestring(template, {list = list})`, `replace(csv, "/[0-9]/", "x")`,
	`replace(csv, "0", "x")`, `regexall("[0-9]+,", csv)`, `slice(list, 1, length(list) - 1)`, `slice(tuple, 1, length(tuple) - 1)`, `reverse(list)`,
	`chunklist(list, 10)`, `concat(list, list)`, `concat([for o in objects : [o.a]]...)`, `merge(objects...)`, `merge([for k, v in map : { (k) = v }]...)`,
	`merge([for k, v in map : tomap({ (k) = v })]...)`, `setunion([for v in list : [v]]...)`, `setintersection(set, list)`, `setsubtract(list, set)`,
	`min(numbers...)`, `anytrue([for b in bools : !b])`, `coalescelist([], list)`, `coalescelist([], tuple)`, `compact(list)`, `sum(tolist(numbers))`, `tomap(map)`,
	`tomap({ for i, o in objects : "k${i}" => o })`, `toset(list)`, `toset(numbers)`, `distinct(numbers)`, `zipmap(tuple, objects)`, `values({ for o in objects : o.a => o })`,
	`lookup(object, last, "")`, `contains(objects, objects[length(objects) - 1])`, `index(objects, objects[length(objects) - 1])`, `matchkeys(tuple, numbers, numbers)`,
	`transpose({ for k, v in map : k => [v] })`, `yamldecode(yamlencode(tuple))`, `yamlencode(object)`, `jsonencode(map)`, `jsonencode(set)`, `jsondecode(jsonencode(object))`,
	`formatlist("%s", list)`, `join(",", [for o in objects : o.a])`, `join(",", list, list)`, `one(slice(list, 0, 1))`, `length(setproduct(list, ["a"], ["b"]))`,
	`{ for o in objects : o.a => o.b... }`, `[for o in objects : o if o.b > 0]`, `objects[*].a`, `tolist(objects)[*].b`, `base64encode(csv)`, `base64decode(base64encode(csv))`,
	`base64gzip(csv)`, `upper(csv)`, `title(csv)`, `strrev(csv)`, `substr(csv, 1, -1)`, `indent(2, csv)`, `chomp(csv)`, `trimspace(csv)`, `urlencode(csv)`, `sha256(csv)`,
	`format("%s%v", csv, tuple)`, `startswith(csv, "a")`, `flatten([tuple, [list, set]])`, `convert(map, map(any))`, `convert(object, object({}))`, `ephemeralasnull(objects)`,
	`length(flatten([for o in objects : [for i in [1, 2] : { a = o.a, i = i }]]))`, `values(lists)`, `keys(lists)`, `alltrue(tolist(bools))`, `try(tonumber(list), list)`,
	`can(tomap(list))`, `list == list`, `objects == tolist(objects)`, `tuple != list`, `true ? list : tuple`, `issensitive(objects)`, `textencodebase64(csv, "UTF-16LE")`,
}

// growingContext returns a context with collections of n elements, and with CSV of n rows and JSON of n+1 objects.
func growingContext(n int) *hcl.EvalContext {
	// Sets first compare numbers by ten digits. A hundred of these numbers share the same ten digits.
	strs, nums, objs, mixed, nested, bools := make([]cty.Value, n), make([]cty.Value, n), make([]cty.Value, n), make([]cty.Value, n), make([]cty.Value, n), make([]cty.Value, n)
	m, lists := map[string]cty.Value{}, map[string]cty.Value{}
	csv, json := []byte("a,b\n"), []byte("[")
	for i := range n {
		name := fmt.Sprintf("item-%06d", i*7919%n)
		strs[i], nums[i], bools[i] = cty.StringVal(name), cty.NumberIntVal(1_000_000_000_000+10*int64(i)), cty.True
		objs[i] = cty.ObjectVal(map[string]cty.Value{"a": strs[i], "b": nums[i]})
		mixed[i] = strs[i]
		if i%3 == 0 {
			mixed[i] = nums[i]
		}
		nested[i] = cty.TupleVal([]cty.Value{strs[i], cty.TupleVal([]cty.Value{nums[i]})})
		m[name] = strs[i]
		lists[name] = cty.ListVal([]cty.Value{strs[i], cty.StringVal("all")})
		csv = fmt.Appendf(csv, "%06d,%06d\n", i, i)
		json = fmt.Appendf(json, `{"a":%d,"b":[%d]},`, i, i)
	}
	list := cty.ListVal(strs)
	return &hcl.EvalContext{
		Functions: Table(&Env{}),
		Variables: map[string]cty.Value{
			"list": list, "tuple": cty.TupleVal(strs), "set": cty.SetVal(strs), "numbers": cty.TupleVal(nums), "objects": cty.TupleVal(objs),
			"mixed": cty.TupleVal(mixed), "nested": cty.TupleVal(nested), "map": cty.MapVal(m), "object": cty.ObjectVal(m), "lists": cty.MapVal(lists),
			"bools": cty.TupleVal(bools), "last": strs[n-1], "csv": cty.StringVal(string(csv)), "json": cty.StringVal(string(json) + "{}]"),
			"template": cty.StringVal("%{ for v in list }${v}%{ endfor }"),
		},
	}
}

func parsed(tb testing.TB, expr string) hclsyntax.Expression {
	e, diags := hclsyntax.ParseExpression([]byte(expr), "test", hcl.InitialPos)
	if diags.HasErrors() {
		tb.Fatal(diags)
	}
	return e
}

func mustValue(tb testing.TB, e hcl.Expression, ctx *hcl.EvalContext) {
	if _, diags := e.Value(ctx); diags.HasErrors() {
		tb.Fatal(diags)
	}
}

// allocated returns the number of objects and bytes that one evaluation allocates.
func allocated(tb testing.TB, e hcl.Expression, ctx *hcl.EvalContext) (objects, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	mustValue(tb, e, ctx)
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// TestAllocationsAreLinear checks that ten times the elements need at most fifteen times the allocated objects and
// bytes, plus a constant. With the race detector it only evaluates the calls.
func TestAllocationsAreLinear(t *testing.T) {
	n := 500
	if os.Getenv("LETHE_LONG") != "" {
		n = 2_000
	}
	few, many := growingContext(n), growingContext(10*n)
	for _, expr := range growing {
		e := parsed(t, expr)
		mustValue(t, e, few) // the first call allocates objects that later calls reuse
		objects, bytes := allocated(t, e, few)
		objects10, bytes10 := allocated(t, e, many)
		if raced {
			continue // allocations vary, because the race detector empties pools at random
		}
		if objects10 > 15*objects+1000 || bytes10 > 15*bytes+100_000 {
			t.Errorf("%s: %d objects and %d bytes became %d and %d", expr, objects, bytes, objects10, bytes10)
		}
	}
}

func BenchmarkGrowing(b *testing.B) {
	for _, n := range []int{5_000, 50_000} {
		ctx := growingContext(n)
		for _, expr := range growing {
			b.Run(fmt.Sprintf("%s/%d", expr, n), func(b *testing.B) {
				e := parsed(b, expr)
				b.ReportAllocs()
				for b.Loop() {
					mustValue(b, e, ctx)
				}
			})
		}
	}
}

func BenchmarkSmallCalls(b *testing.B) {
	ctx := growingContext(10)
	for _, expr := range []string{`upper("a")`, `length(list)`, `join(",", list)`, `lookup(map, "x", "")`, `merge(map, {a = "b"})`, `format("%s-%d", "a", 1)`, `cidrsubnet("10.0.0.0/8", 8, 1)`} {
		b.Run(expr, func(b *testing.B) {
			e := parsed(b, expr)
			b.ReportAllocs()
			for b.Loop() {
				mustValue(b, e, ctx)
			}
		})
	}
}
