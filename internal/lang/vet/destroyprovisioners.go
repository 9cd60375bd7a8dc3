package vet

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// destroyProvisioners reports an error if a destroy-time provisioner, or the connection that it uses, needs the value
// of another object, because that object may no longer exist when the provisioner runs. Values of ephemeral resources,
// which are opened again, and values that depend only on variables are allowed. It also checks the provisioners of
// removed blocks (removedProvisioners). If it reports an error, it returns false.
func destroyProvisioners(p *program.Program, bag *diag.Bag) bool {
	ok := true
	for _, d := range p.Decls() {
		if d.Kind != program.Resource || d.Resource.Mode != addr.Managed {
			continue
		}
		shared := false // the connection of the resource, which its provisioners share, was checked already
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
	for n := range p.Nodes() {
		ok = removedProvisioners(p, n, bag) && ok
	}
	return ok
}

// removedProvisioners reports an error and returns false if a provisioner of a removed block needs the value of a
// resource. The values of ephemeral resources are not allowed either, because only declared resources receive them.
func removedProvisioners(p *program.Program, n *program.Node, bag *diag.Bag) bool {
	ok := true
	for _, ref := range program.RemovedRefs(p, n) {
		to := madeFrom(p, ref.To, func(at *program.Declaration) (found, through bool) {
			return at.Kind == program.Resource, at.Kind != program.Provider
		}, toValue)
		if to != nil {
			ok = false
			bag.Add(diag.Errorf("Invalid reference from destroy provisioner", "This provisioner of a removed block depends on %s. Such provisioners and their connections can use only 'self', 'count.index', 'each.key' and variables. Use an attribute of the removed object.", to).At(ref.Range))
		}
	}
	return ok
}

// toValue reports whether the value of a declaration may depend on one of its references. It returns false if the
// reference is only in a condition, or leads only to the call of the declaration's own module.
func toValue(ref program.Ref) bool {
	return ref.Use&program.ByCondition != ref.Use && ref.Use&program.ByModule != ref.Use
}

// needsOnlySelf reports whether a body needs the value of no other object. If it does, needsOnlySelf adds an error for
// the first such reference.
func needsOnlySelf(p *program.Program, d *program.Declaration, body any, bag *diag.Bag) bool {
	for _, ref := range p.PartRefs(d.ID, body) {
		if to := needsObject(p, ref.To); to != nil {
			through := ""
			if to.ID != ref.To {
				through = ", through " + p.Decls()[ref.To].String()
			}
			bag.Add(diag.Errorf("Invalid reference from destroy provisioner",
				"This destroy-time provisioner depends on %s%s, which may not exist when the object is destroyed. Such provisioners and their connections can use only 'self', 'count.index', 'each.key', ephemeral values and variables.\n\nStore the value in an attribute of the resource, for example in triggers_replace of a terraform_data resource, and use 'self'.", to, through).
				At(ref.Range).About(d))
			return false
		}
	}
	return true
}

// needsObject returns a managed or data resource which is d or on whose value d depends. It returns nil if no such
// resource exists.
func needsObject(p *program.Program, d program.Decl) *program.Declaration {
	return madeFrom(p, d, func(at *program.Declaration) (found, through bool) {
		is := at.Kind == program.Resource
		return is && at.Resource.Mode != addr.Ephemeral, !is && at.Kind != program.Provider
	}, toValue)
}

// madeFrom follows the references of d for which use returns true, and returns the first declaration for which test
// returns found. It begins with d itself. If test returns false for through, the references of that declaration are not
// followed. madeFrom returns nil if it finds no declaration.
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
