package applying

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// freeKey is the key under which an instance's object is deposed: made from what names this state
// and this moment of it, the next free one if that is taken. The caller holds the lock.
func (a *applier) freeKey(i addr.Instance) string {
	head := a.edit.Head()
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s\x00%d", head.Lineage, head.Serial, i, n))
		key := hex.EncodeToString(sum[:4])
		if a.edit.Get(addr.Object{Instance: i, Deposed: key}) == nil {
			return key
		}
	}
}

// outputs stores the root outputs.
func (a *applier) outputs() {
	for _, c := range a.plan.Outputs {
		a.output(c)
	}
}

func (a *applier) output(c *plan.OutputChange) {
	if c.Action == plan.Delete {
		a.edit.DropOutput(c.Name)
		return
	}
	v := c.After
	_, declared := a.run.Program.Lookup(addr.Module{}, program.Output, c.Name)
	if declared && a.plan.Mode == plan.Normal && !v.Raw.IsWhollyKnown() { // what was shown is what is stored
		var outcome frame.Outcome
		if v, outcome = a.run.Frame.Output(c.Name, frame.After, a.run.Bag); outcome != frame.OK {
			return // it keeps what it had
		}
	}
	if !v.Raw.IsWhollyKnown() || v.Raw.IsNull() && c.Before.Raw.IsNull() {
		return
	}
	if v.Raw.IsNull() && v.Raw.Type() == cty.DynamicPseudoType {
		a.edit.DropOutput(c.Name)
		return
	}
	a.edit.Output(c.Name, state.Output{Value: v, Type: v.Raw.Type(), Sensitive: c.Sensitive, Deprecated: c.Deprecated})
}

// keepOutputs stores, after a run that failed, those outputs that can still be known. Those that are to
// go wait for nothing: what they were made from may be gone.
func (a *applier) keepOutputs() {
	for _, c := range a.plan.Outputs {
		if c.Action == plan.Delete {
			a.edit.DropOutput(c.Name)
			continue
		}
		if c.Action == plan.NoOp || a.run.Checks.Failed("output."+c.Name) {
			continue
		}
		var quiet diag.Bag
		v, outcome := a.run.Frame.Output(c.Name, frame.After, &quiet)
		if c.After.Raw.IsWhollyKnown() {
			v = c.After
		}
		if outcome == frame.OK && v.Raw.IsWhollyKnown() && !v.Raw.IsNull() {
			a.edit.Output(c.Name, state.Output{Value: v, Type: v.Raw.Type(), Sensitive: c.Sensitive, Deprecated: c.Deprecated})
		}
	}
}

// expectChecks says which conditions this walk is to evaluate: those of declarations in the plan that have
// steps of their own, and of objects that it visits. What keeps it from one leaves that unknown.
func (a *applier) expectChecks() {
	if a.plan.Mode != plan.Normal || !a.anySteps() {
		return
	}
	decls := map[string]*program.Declaration{}
	for _, d := range a.run.Program.Decls() {
		if declared.HasConditions(d) {
			decls[d.String()] = d
		}
	}
	for _, c := range a.plan.Checks {
		for _, o := range c.Objects {
			if d := decls[c.Addr]; d != nil {
				a.run.Expect(d, o.Addr)
			}
		}
	}
	for _, c := range a.plan.Changes {
		if d, ok := a.run.Program.Resource(c.Object.Resource()); ok && c.Conditions {
			a.run.Expect(d, c.Object.Instance.String())
		}
	}
}
