// Package file keeps a plan between planning and applying.
//
// A saved plan is a zip archive with the members that plan files of Terraform and OpenTofu have, because tools
// recognise plans by them:
//
//	tfplan                  the plan itself, as JSON (body.go)
//	values                  the values in it, as MessagePack, one after the other
//	tfstate                 the refreshed state, format v4
//	tfstate-prev            the state as it was before
//	tfconfig/modules.json   the modules of the configuration
//	tfconfig/m-KEY/…        their files, as they were when the plan was made
//	.terraform.lock.hcl     the dependency lock file
//	schemas/PROVIDER        how providers describe the types in it, so that providers need not be started to
//	                        show it
//
// What is in it is changes, not steps: the order follows from the changes (plan.Order) and is found
// again after loading. Nothing ephemeral can get in: a value with such a mark makes Write fail, and
// of ephemeral variables there are only the names (invariant I11). Equal contents give equal bytes
// (I14).
//
// The archive ends with a seal (seal.go): a digest over every byte before it, so that no damage goes
// unnoticed, and one under a key, so that a user with the key notices what was changed on purpose. Plans contain
// what state and variables contain, so callers keep the file at mode 0600.
//
// Reading trusts nothing: sizes, counts and paths are checked before they are used, and what
// is wrong is one diagnostic.
package file

import (
	"bytes"
	"io"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Write writes a saved plan, sealed with a key; nil: with none. It fails where the plan holds what must not be stored, which is a bug
// of ours, and when w does.
func Write(w io.Writer, c *Contents, key []byte) error {
	a := newArchive(w, c.Plan.Timestamp, key)
	if err := a.addPlan(c); err != nil {
		return err
	}
	if err := a.addStates(c.Plan); err != nil {
		return err
	}
	if err := a.addConfig(c.Config); err != nil {
		return err
	}
	a.add(memberLock, c.Lock)
	for _, p := range slices.SortedFunc(maps.Keys(c.Schemas), addr.Provider.Compare) {
		a.add(schemaDir+p.String(), c.Schemas[p])
	}
	return a.end()
}

func (a *archive) addPlan(c *Contents) error {
	body := bytes.NewBufferString(firstLine(c.Version))
	values, err := encode(body, c.Plan)
	if err != nil {
		return err
	}
	a.add(memberPlan, body.Bytes())
	a.add(memberValues, values...)
	return nil
}

// addStates writes the two states. One that is as it was read is written as it was read: the text is in memory anyway,
// and means the same.
func (a *archive) addStates(p *plan.Plan) (err error) {
	now := p.Refreshed.Source()
	if now == nil {
		now, err = p.Refreshed.Direct()
	}
	if err != nil {
		return err
	}
	prev := now
	if p.Previous != p.Refreshed {
		prev = p.Previous.Source()
	}
	if prev == nil {
		prev, err = p.Previous.Bytes()
	}
	if err != nil {
		return err
	}
	a.add(memberState, now)
	a.add(memberPrev, prev)
	return nil
}

// Read reads a saved plan. key is what Contents.Own is about, nil for none: a plan that says it is sealed with it, and
// is not, cannot be used. Whether this program may apply it is for WrittenBy to say,
// whether it still fits the state for Stale.
func Read(name string, data, key []byte, bag *diag.Bag) (*Contents, bool) {
	c, d := read(name, data, key, bag)
	if d != nil {
		d.Detail = "The file " + name + " " + d.Detail
		bag.Add(*d)
	}
	return c, d == nil && c != nil
}

// read gives nil and nil when what is wrong is in the bag already. What it gives is said of the file, which is not named.
func read(name string, data, key []byte, bag *diag.Bag) (*Contents, *diag.Diagnostic) {
	m, d := open(name, data)
	if d != nil {
		return nil, d
	}
	c, start, d := m.header()
	if d != nil {
		return nil, d
	}
	if c.Own, d = checkSeal(data, key); d != nil {
		return nil, d
	}
	if d := m.inflate(); d != nil {
		return nil, d
	}
	now, prev, ok := m.states(bag)
	if !ok {
		return nil, nil
	}
	c.Plan = &plan.Plan{Previous: prev, Refreshed: now}
	if err := decode(m.data[memberPlan][start:], m.data[memberValues], c.Plan); err != nil {
		return nil, broken("its member %q cannot be read: %s", memberPlan, err)
	}
	if c.Config, d = m.config(); d != nil {
		return nil, d
	}
	if c.Schemas, d = m.schemas(); d != nil {
		return nil, d
	}
	c.Lock = m.data[memberLock]
	return c, nil
}

// states reads the two states, once if they are the same.
func (m *members) states(bag *diag.Bag) (now, prev *state.Snapshot, ok bool) {
	now, ok = state.Read(m.data[memberState], bag)
	if !ok {
		return nil, nil, false
	}
	text, other := m.data[memberPrev]
	if !other {
		return now, now, true
	}
	prev, ok = state.Read(text, bag)
	return now, prev, ok
}
