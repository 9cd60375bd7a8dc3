package moving

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/engine/enginetest"
)

// Moved blocks apply one after another, and the result has the first address of each object.
func TestMake(t *testing.T) {
	for what, c := range map[string]struct{ config, stored, want, blocked string }{
		"a chain": {"resource \"t_item\" \"c\" {\n}\nmoved {\n from = t_item.a\n to = t_item.b\n}\nmoved {\n from = t_item.b\n to = t_item.c\n}\n",
			"t_item.a", "t_item.a → t_item.c", ""},
		"a place that is taken": {"resource \"t_item\" \"b\" {\n}\nmoved {\n from = t_item.a\n to = t_item.b\n}\n",
			"t_item.a t_item.b", "", "t_item.a"},
		"count is new":  {"resource \"t_item\" \"a\" {\n count = 1\n}\n", "t_item.a", "t_item.a → t_item.a[0]", ""},
		"count is gone": {"resource \"t_item\" \"a\" {\n}\n", "t_item.a[0] t_item.a[1]", "t_item.a[0] → t_item.a", ""},
		"nothing moves": {"resource \"t_item\" \"a\" {\n}\n", "t_item.a", "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			m := Make(enginetest.Program(t, map[string]string{"main.tf": c.config}), enginetest.State(t, strings.Fields(c.stored)...))
			var got []string
			for to, from := range m.Origins {
				got = append(got, fmt.Sprintf("%s → %s", from, to))
				if m.State.Get(to) == nil {
					t.Errorf("the state has not moved %s to %s", from, to)
				}
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("moved %v, want %s", got, c.want)
			}
			if n := len(m.blocked); (n > 0) != (c.blocked != "") || n > 0 && !strings.Contains(m.blocked[0].Detail, c.blocked) {
				t.Errorf("blocked %v", m.blocked)
			}
		})
	}
}

// If a moved block moves an object to another type, and count then adds a key to its address, the result has the first
// address of the object. The provider converts the object.
func TestRetyped(t *testing.T) {
	m := Make(enginetest.Program(t, map[string]string{"main.tf": "resource \"t_item\" \"b\" {\n count = 1\n}\nmoved {\n from = t_other.a\n to = t_item.b\n}\n"}), enginetest.State(t, "t_other.a"))
	to := enginetest.Instance(t, "t_item.b[0]").Current()
	if was := m.Retyped[to]; was != enginetest.Instance(t, "t_other.a") || len(m.Retyped) != 1 || m.Origin(to).Instance != was {
		t.Errorf("%v, %v", m.Retyped, m.Origins)
	}
}
