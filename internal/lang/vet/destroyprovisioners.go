package vet

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// destroyProvisioners reports destroy-time provisioners, and the connections they use, that need the value of
// another object: by the time an object is destroyed there is no telling whether that still exists.
// Ephemeral resources are obtained anew, so they may be used, and so may what is known from
// variables alone.
func destroyProvisioners(p *program.Program, bag *diag.Bag) bool {
	ok := true
	for _, d := range p.Decls() {
		if d.Kind != program.Resource || d.Resource.Mode != addr.Managed {
			continue
		}
		shared := false // the resource's connection was looked at
		for _, v := range d.Res.Provisioners {
			if !v.Destroy {
				continue
			}
			ok = needsOnlySelf(p, d, v, bag) && ok
			if v.Connection != nil {
				ok = needsOnlySelf(p, d, v.Connection, bag) && ok
			}
			if d.Res.Connection != nil && !shared && v.Type != "local-exec" {
				shared = true
				ok = needsOnlySelf(p, d, d.Res.Connection, bag) && ok
			}
		}
	}
	return ok
}

// needsOnlySelf reports the first reference of a body that needs another object.
func needsOnlySelf(p *program.Program, d *program.Declaration, body any, bag *diag.Bag) bool {
	for _, ref := range p.PartRefs(d.ID, body) {
		if to := needsObject(p, ref.To); to != nil {
			through := ""
			if to.ID != ref.To {
				through = ", through " + p.Decls()[ref.To].String()
			}
			bag.Add(diag.Errorf("Invalid reference from destroy provisioner",
				"Destroy-time provisioners and their connection configurations may only reference attributes of the related resource, via 'self', 'count.index', or 'each.key', and beside these ephemeral values and what is known from variables. This one needs %s%s, which may be gone or changed by the time the object is destroyed.\n\nKeep what is needed in an attribute of the object itself.", to, through).
				At(ref.Range).About(d))
			return false
		}
	}
	return true
}

// needsObject finds a managed or data resource that a value is made from, nil if there is none.
func needsObject(p *program.Program, d program.Decl) *program.Declaration {
	return madeFrom(p, d, func(at *program.Declaration) (found, through bool) {
		is := at.Kind == program.Resource
		return is && at.Resource.Mode != addr.Ephemeral, !is && at.Kind != program.Provider
	}, func(ref program.Ref) bool {
		return ref.Use&program.ByCondition != ref.Use && ref.Use&program.ByModule != ref.Use
	})
}

// madeFrom goes along the references of a declaration that use says count, and finds the first one, itself included,
// that test says is found; nil if there is none. Where test says so, it goes no further through one.
func madeFrom(p *program.Program, d program.Decl, test func(*program.Declaration) (found, through bool), use func(program.Ref) bool) *program.Declaration {
	seen := map[program.Decl]bool{}
	var visit func(program.Decl) *program.Declaration
	visit = func(d program.Decl) *program.Declaration {
		if seen[d] {
			return nil
		}
		seen[d] = true
		found, through := test(p.Decls()[d])
		switch {
		case found:
			return p.Decls()[d]
		case !through:
			return nil
		}
		for _, ref := range p.Refs(d) {
			if !use(ref) {
				continue
			}
			if to := visit(ref.To); to != nil {
				return to
			}
		}
		return nil
	}
	return visit(d)
}
