package planning

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Import requests, for the import command, the import of the existing object with the given ID to the address To.
type Import struct {
	To addr.Instance
	ID string
}

// importRequests are the imports of a plan, from the command line and from the configuration.
type importRequests struct {
	commanded []Import
	run       *run.Run
}

// find returns the import of an instance, from the command line or from an import block. found is false if nothing
// requests the import of the instance. ok is false if the import blocks cannot be evaluated.
func (r importRequests) find(d *program.Declaration, inst addr.Instance) (im frame.Import, found, ok bool) {
	for _, im := range r.commanded {
		if im.To == inst {
			return frame.Import{To: inst, ID: im.ID, Identity: cty.NilVal}, true, true
		}
	}
	imports, out := r.run.Frame.Imports(d.ID, r.run.Bag)
	if out != frame.OK {
		return frame.Import{}, false, false
	}
	for _, im := range imports {
		if im.To == inst {
			return im, true, true
		}
	}
	return frame.Import{}, false, true
}

// conform converts the identity of an import to the identity schema of the type. It changes nothing in an import
// without an identity. If the conversion fails, conform reports an error and returns false, because the provider would
// otherwise receive neither an id nor an identity.
func conform(t *object.Tools, im *frame.Import) bool {
	if im.Identity == cty.NilVal {
		return true
	}
	v, err := t.Type.ImportIdentity(im.Identity)
	if err != nil {
		t.Bag.Add(diag.Errorf("Invalid import identity argument", "The identity in the import block for %s is not valid: %s.", im.To, err).At(im.Block.Identity.Range()))
		return false
	}
	im.Identity = v
	return true
}

// through reports an error and returns false if an import block names another instance of the provider than its resource,
// which uses u. Otherwise the import would silently use the instance of the resource.
func through(bag *diag.Bag, im *frame.Import, u declared.Use) bool {
	if im.Provider == nil || im.Provider.Key == nil || im.Key == u.Instance.Key {
		return true
	}
	bag.Add(diag.Errorf("Invalid import provider argument", "The import block for %s names the instance %s of the provider, and the resource uses %s. Remove the argument here, or set the same instance in both.", im.To, im.Key, u.Instance).At(im.Provider.Range).About(im.To))
	return false
}

// byCommand reports whether the import command (not an import block) requested the import of an instance.
func (r importRequests) byCommand(inst addr.Instance) bool {
	return slices.ContainsFunc(r.commanded, func(im Import) bool { return im.To == inst })
}

// keep reports an error if the plan imports an object and also destroys it at its former address, because the imported
// object would be lost. keep treats two state entries as the same object if both have the ID or the identity that the
// import names, the same type and the same provider. It ignores other IDs, because all objects of a type may share them.
func (r importRequests) keep(s *refreshedState, changes []*plan.Change) {
	type known struct {
		provider addr.Provider
		kind     string
		name     name
	}
	of := func(o addr.Object, e *state.Entry, n name) known {
		return known{e.Provider.Provider.Canon(), o.Type, n}
	}
	imported := map[known]addr.Object{}
	for _, c := range changes {
		if e := s.found[c.Object].Entry; c.Importing != nil && e != nil {
			for _, n := range namesOf(e) {
				if n.isIn(c.Importing.ID, c.Importing.Identity) {
					imported[of(c.Object, e, n)] = c.Object
				}
			}
		}
	}
	for _, c := range changes {
		e := s.prior.Get(c.Object)
		if len(imported) == 0 || e == nil || !c.Action.Downs() || c.Action == plan.Forget || c.Action == plan.ForgetCreate {
			continue
		}
		if now := s.found[c.Object].Entry; now != nil {
			e = now // the provider may add an identity to an object that another program has stored
		}
		for _, n := range namesOf(e) {
			to, is := imported[of(c.Object, e, n)]
			if x, y := identityOf(e), identityOf(s.found[to].Entry); is && to != c.Object && (x == y || x == "" || y == "") {
				r.refuse(c.Object, e, to, s.found[to].Entry)
				break
			}
		}
	}
}

// refuse reports that a plan imports the object of an entry to another address, and destroys it.
func (r importRequests) refuse(from addr.Object, e *state.Entry, to addr.Object, imported *state.Entry) {
	other, id := "", ""
	if !declared.SameInstance(e.Provider, imported.Provider) {
		other = " If it is a different object, for example in another account, import it first with -target."
	}
	if e.ID() != "" {
		id = fmt.Sprintf(" %q", e.ShownID())
	}
	d, _ := r.run.Program.Resource(to.Resource())
	r.run.Bag.Add(diag.Errorf("Imported object would be destroyed", "%s imports the object%s, which is %s in the state, and this plan destroys it there. Replace the import by a moved block from %[3]s to %[1]s, or add a removed block for %[3]s with destroy = false.%s", to, id, from, other).At(d.Range).About(to.Instance))
}
