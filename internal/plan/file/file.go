// Package file saves a plan between planning and applying.
//
// A saved plan is a zip archive. Some of its members have the names of members in plan files of Terraform and OpenTofu,
// because tools recognise plans by these names:
//
//	tfplan                  the plan itself, as JSON (body.go)
//	values                  the values of attributes in the plan, as MessagePack, one after the other
//	tfstate                 the refreshed state, format v4
//	tfstate-prev            the state before the plan and its refresh, format v4
//	tfconfig/modules.json   the modules of the configuration
//	tfconfig/m-KEY/…        the files of the module with the key KEY, at the time of the plan
//	.terraform.lock.hcl     the dependency lock file
//	schemas/PROVIDER        the schemas of the types in the plan, so that it can be shown without starting
//	                        providers
//
// A saved plan contains changes, not steps: the order follows from the changes (plan.Order) and is computed again after
// loading. A saved plan contains no ephemeral value (invariant I11): a value with the ephemeral mark makes Write fail,
// and only the names of ephemeral variables are saved. Equal contents have equal bytes (invariant I14).
//
// The archive ends with a seal (seal.go). A digest of every byte before it detects damage, and a MAC under a key lets a
// user with the key detect intentional changes. Plans contain the values of the state and of variables, sensitive
// values too, so callers create the file with mode 0600.
//
// Read checks all sizes, counts and paths in the file before it uses them. It reports the first error about the archive
// as one diagnostic. Errors in a state inside the archive may be several diagnostics.
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

// Write writes a saved plan to w. key is the key of the seal; nil: the seal has no key. Write returns an error if w
// returns an error, if the plan is larger than 4 GiB, or if a configuration file has a name that cannot be saved. It
// also returns an error if the plan contains an ephemeral value, which is a bug in Lethe.
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
// which is still in memory and needs no encoding.
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

// Read reads a saved plan. data is the content of the file, and name is its name. Read reports an error in bag and
// returns false if the archive is damaged, was changed after it was written, or was written by another program or in
// another format. If the plan is sealed with key, Read sets Contents.Own. key may be nil. Read does not check whether
// this version of Lethe may apply the plan (WrittenBy), nor whether the plan still fits the state (Stale).
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

// states reads the refreshed and the previous state. If m.data has no previous state, because it equals the refreshed
// state, both results are the refreshed state. It adds errors to bag and returns false if a state cannot be read.
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
