package planning

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
)

// rewrite warns of the objects in Request.Rewrite: an interrupted run has written them with a value of an ephemeral
// resource that no longer exists. It first removes the objects from Request.Rewrite that this plan cannot write again.
// A provider writes a write-only argument again only if the version argument beside it changes. So planning sets the
// version arguments in the refreshed state of these objects to null (unversioned). Objects without version arguments
// are updated, too (Forced.Rewrite).
func rewrite(p *planner) {
	if p.req.Mode != plan.Normal {
		p.req.Rewrite = nil
	}
	var named []string
	for o, lease := range p.req.Rewrite {
		if p.prior.Get(o) == nil || !p.sel.Includes(o.Instance) || p.req.Earlier.has(o) || !receives(p, o, lease) {
			delete(p.req.Rewrite, o)
			continue
		}
		named = append(named, o.String()+" ("+lease+")")
	}
	if len(named) == 0 {
		return
	}
	slices.Sort(named)
	p.run.Bag.Add(diag.Warningf("Earlier value of an ephemeral resource", "An earlier run wrote these objects with values of ephemeral resources, and ended before it had written all objects that need the same values:\n  %s\n\nThe values are lost, because Lethe does not store them. So these objects are written again with the present values.", strings.Join(named, "\n  ")))
}

// receives reports whether the object o uses the value of an ephemeral resource. lease is the address of the ephemeral
// resource, with or without a key.
func receives(p *planner, o addr.Object, lease string) bool {
	d, ok := p.run.Program.Resource(o.Resource())
	if !ok {
		return false
	}
	for _, w := range p.run.Receivers.Received(d.ID) {
		if of := p.run.Program.Decls()[w.Of].Resource.String(); of == lease || strings.HasPrefix(lease, of+"[") {
			return true
		}
	}
	return false
}

// unversioned returns the refreshed object cur with null for the version arguments of its write-only arguments. The
// plan then changes the versions, so the provider writes the write-only arguments again. It returns the object
// unchanged, and true, if the stored attributes are not a JSON object. It returns false if the result cannot be
// encoded.
func unversioned(p *planner, t *object.Tools, cur object.Current) (object.Current, bool) {
	d, _ := p.run.Program.Resource(t.Object.Resource())
	entry, err := withoutVersions(cur.Entry, p.run.Program.Schema(d.ID).Attrs)
	if err != nil {
		return cur, true // the versions stay, so the provider decides whether it writes the arguments again
	}
	known, ok := t.Stored(entry)
	return object.Current{Entry: entry, Known: known}, ok
}

// withoutVersions returns a copy of the state entry e with null for the version arguments of write-only arguments. list
// has the attributes of the schema. It returns an error if the stored attributes are not a JSON object.
func withoutVersions(e *state.Entry, list []*schema.Attr) (*state.Entry, error) {
	var attrs map[string]json.RawMessage
	if err := json.Unmarshal(e.Attrs, &attrs); err != nil {
		return nil, err
	}
	for _, a := range list {
		if v := schema.VersionOf(list, a.Name); a.WriteOnly && v != nil {
			attrs[v.Name] = json.RawMessage("null")
		}
	}
	next := *e
	var err error
	next.Attrs, err = json.Marshal(attrs)
	return &next, err
}
