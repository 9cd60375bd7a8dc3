// Package file saves a plan between planning and applying.
//
// A saved plan is a zip archive with the members of plan files of Terraform and OpenTofu, because tools recognise plans
// by these:
//
//	tfplan                  the plan itself, as JSON (body.go)
//	values                  the values in it, as MessagePack, one after the other
//	tfstate                 the refreshed state, format v4
//	tfstate-prev            the state before the plan
//	tfconfig/modules.json   the modules of the configuration
//	tfconfig/m-KEY/…        their files at the time of the plan
//	.terraform.lock.hcl     the dependency lock file
//	schemas/PROVIDER        the schemas of the types in the plan, so that it can be shown without starting
//	                        providers
//
// A saved plan contains changes, not steps: the order follows from the changes (plan.Order) and is computed again after
// loading. It contains nothing ephemeral: a value with such a mark makes Write fail, and only the names of ephemeral
// variables are saved (invariant I11). Equal contents have equal bytes (I14).
//
// The archive ends with a seal (seal.go). A digest of every byte before it detects damage, and a MAC under a key lets a
// user with the key detect intentional changes. Plans contain the values of the state and of variables, so callers
// create the file with mode 0600.
//
// Read trusts nothing: it checks sizes, counts and paths before it uses them, and reports the first error as one
// diagnostic.
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

// Write writes a saved plan, sealed with a key; nil: without a key. It returns an error if w does, if the plan is
// larger than 4 GiB, or if a configuration file has a name that cannot be saved. It also does so if the plan contains a
// value that must not be stored, which is a bug in Lethe.
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

// addStates writes the two states. A state that has not changed since it was read is written with its original text,
// which is in memory and has the same meaning.
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

// Read reads a saved plan. It sets Contents.Own if the plan is sealed with the key; nil: no key. A plan with the ID of
// the key and a wrong MAC is an error. WrittenBy checks whether this program may apply the plan, and Stale whether it
// still fits the state.
func Read(name string, data, key []byte, bag *diag.Bag) (*Contents, bool) {
	c, d := read(name, data, key, bag)
	if d != nil {
		d.Detail = "The file " + name + " " + d.Detail
		bag.Add(*d)
	}
	return c, d == nil && c != nil
}

// read does the work of Read. It returns nil and nil if it has added the errors to bag. The detail of a returned
// diagnostic continues a sentence that begins with the name of the file.
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

// states reads the refreshed and the previous state. If the plan has only one, both are equal. It adds errors to bag
// and returns false if a state cannot be read.
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
