package lang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/limits"
)

// TestBombs checks that a language bomb fails quickly and with little memory.
func TestBombs(t *testing.T) {
	laughs := func(first, more string, n int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "locals {\n  l0 = %s\n", first)
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, "  l%d = "+strings.ReplaceAll(more, "L", "local.l%[2]d")+"\n", i, i-1)
		}
		fmt.Fprintf(&b, "}\noutput \"o\" { value = length(local.l%d) }\n", n-1)
		return b.String()
	}
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("locals {\n  l0 = 1\n")
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, "  l%d = local.l%d\n", i, i-1)
		}
		fmt.Fprintf(&b, "}\noutput \"o\" { value = local.l%d }\n", n-1)
		return b.String()
	}
	small := frame.Options{Limits: limits.Limits{Bytes: 16 << 20}} // a low limit ends expressions that make long texts before the memory watch does
	tests := []struct{ name, config, want string }{
		{"lists of lists", laughs(`["ha", "ha"]`, "[L, L, L, L]", 40), "Value too large"},
		{"objects of objects", laughs(`{ a = 1 }`, "{ a = L, b = L, c = L }", 60), "Value too large"},
		{"text of text", laughs(`"ha"`, `"${L}${L}${L}"`, 60), "Template result too long"},
		{"loops in loops", `locals { r = range(1000) }
output "o" { value = length([for a in local.r : [for b in local.r : [for c in local.r : 1]]]) }`, "Too many elements"},
		{"a long chain", chain(30_000), "Evaluation too deep"},
		{"a chain that is not too long", chain(5_000), ""},
		{"instances", `resource "test_thing" "a" { count = 100000000 }`, "Invalid count argument"},
		{"dynamic blocks", `variable "v" { default = null }
locals { r = range(1000) }
resource "test_thing" "a" {
  dynamic "uniq" {
    for_each = flatten([for a in local.r : [for b in local.r : [for c in local.r : 1]]])
    content { b = 1 }
  }
}`, "Too many elements"},
		{"deep expressions", `output "o" { value = ` + strings.Repeat("[", 250) + strings.Repeat("]", 250) + ` }`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var bag diag.Bag
			p, ok := Compile(load(t, test.config), &bag)
			if !ok {
				t.Fatal(show(&bag))
			}
			start := time.Now()
			vet.Check(p, cached.Of, vet.CheckOptions{BodiesOnly: true}, &bag)
			f, _ := frame.New(p, small, &bag)
			if _, ok := p.Lookup(addr.Module{}, program.Output, "o"); ok {
				f.Named(program.Output, "o", frame.After, &bag)
			} else {
				run(p, small, false, &bag)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
			got := ""
			for _, d := range bag.List() {
				if d.Severity == diag.Error {
					got = d.Summary
					break
				}
			}
			if got != test.want {
				t.Errorf("%q\n%.2000s", got, show(&bag))
			}
		})
	}
}
