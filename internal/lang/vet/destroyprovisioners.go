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
		if to := needsObject(p, ref.To, map[program.Decl]bool{}); to != nil {
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
func needsObject(p *program.Program, d program.Decl, seen map[program.Decl]bool) *program.Declaration {
	if seen[d] {
		return nil
	}
	seen[d] = true
	switch info := p.Decls()[d]; {
	case info.Kind == program.Provider:
		return nil
	case info.Kind == program.Resource && info.Resource.Mode != addr.Ephemeral:
		return info
	case info.Kind == program.Resource:
		return nil
	}
	for _, ref := range p.Refs(d) {
		if ref.Use&program.ByCondition == ref.Use || ref.Use&program.ByModule == ref.Use {
			continue
		}
		if to := needsObject(p, ref.To, seen); to != nil {
			return to
		}
	}
	return nil
}
