package explain

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// effects returns the consequences of a change of a declaration, or of a part of it. If the part is an attribute in the
// text of a resource, the first consequence is the change of the resource itself.
func (x *explainer) effects(f Found) []Effect {
	e := &effects{explainer: x, seen: map[string]bool{}}
	if f.Kind == program.Resource && len(f.Path) > 0 && len(program.Parts(x.Program, f.ID, f.Path)) > 0 {
		e.user(User{Of: f.Declaration, Path: f.Path, Use: program.ByValue, At: f.Range})
	}
	e.follow(f.Declaration, f.Path)
	return e.list
}

// effects follows a value to all declarations that receive it.
type effects struct {
	*explainer
	seen map[string]bool
	list []Effect
}

func (e *effects) follow(d *program.Declaration, path []string) {
	for _, u := range e.users.at(d, path) {
		e.user(u)
	}
}

// user adds the effect on a user, or follows the value through it to the users of the user. It does nothing for a user
// that was seen before, or after too many effects.
func (e *effects) user(u User) {
	key := u.Address() + "\x00" + u.How()
	if e.seen[key] || len(e.list) > mostSources {
		return
	}
	e.seen[key] = true
	if u.Use == program.ByValue && u.Of.Kind != program.Resource && u.Of.Kind != program.Provider && u.Of.Kind != program.Check {
		if u.Of.Kind == program.Output && u.Of.Module.IsRoot() {
			e.add(u, "changes", false)
		}
		e.follow(u.Of, nil)
		return
	}
	e.add(u, e.text(u), u.Use != program.ByDepends && u.Use != program.ByNull)
}

func (e *effects) add(u User, text string, receives bool) {
	e.list = append(e.list, Effect{Address: u.Address(), At: u.At, Text: text, Receives: receives, of: u.Of})
}

// text returns the effect of a change on a user.
func (e *effects) text(u User) string {
	switch u.Use {
	case program.ByRepeat:
		return "may get other instances, because count, for_each or enabled uses the value: they are created or destroyed"
	case program.ByDepends:
		return "does not change: depends_on only determines the order"
	case program.ByCondition:
		return "does not change: its conditions are checked with the value"
	case program.ByTrigger:
		return "is replaced, because of replace_triggered_by"
	case program.ByProvision:
		return "does not change: its provisioners run only when it is created or destroyed"
	case program.ByNull:
		return "does not change: ephemeralasnull uses only the type of the value"
	case program.ByLifecycle, program.ByImport, program.ByFunction:
		return "uses the value in " + u.How()
	}
	switch {
	case u.Of.Kind == program.Provider:
		return "is configured differently"
	case u.Of.Kind != program.Resource:
		return "is checked again"
	case u.Of.Resource.Mode == addr.Data:
		return "is read again"
	case u.Of.Resource.Mode == addr.Ephemeral:
		return "is opened with the new value in each run"
	case u.Of.Resource.Mode != addr.Managed:
		return "finds other objects"
	}
	return e.managed(u)
}

// managed returns the effect of a change of an argument of a managed resource.
func (e *effects) managed(u User) string {
	attrs := e.attributes(u.Of, u.Path)
	switch {
	case ignored(u):
		return "does not change: ignore_changes contains it"
	case len(attrs) > 0 && attrs[len(attrs)-1].WriteOnly:
		return "does not change by itself, because the state does not contain the value: the provider receives it with each other change, and the version argument beside it announces a new value"
	case e.forces(u):
		return "is replaced: the plan says that " + strings.TrimPrefix(Written(u.Path), ".") + " forces the replacement"
	}
	return "is updated in place or replaced: the provider decides this in a plan, and its schema does not contain it"
}

// ignored reports whether ignore_changes contains the argument, or is all. It compares only the first name of the path.
func ignored(u User) bool {
	r := u.Of.Res
	if r == nil {
		return false
	}
	if r.Lifecycle.IgnoreAll {
		return true
	}
	return slices.ContainsFunc(r.Lifecycle.IgnoredNames(), func(name string) bool { return len(u.Path) > 0 && u.Path[0] == name })
}

// forces reports whether the plan replaces an object of the user because of the argument. Without a plan it returns
// false. It compares only the first name of the path.
func (e *effects) forces(u User) bool {
	if e.Review == nil || len(u.Path) == 0 {
		return false
	}
	for _, c := range e.Review.Changes {
		if c.Object.Resource() != u.Of.Resource {
			continue
		}
		for _, r := range c.Reasons {
			if first, _, _ := strings.Cut(strings.ReplaceAll(r.Attribute, "[", "."), "."); first == u.Path[0] {
				return true
			}
		}
	}
	return false
}

// planned returns the changes of the plan to the declaration and to the resources that its change affects. It omits
// objects without a change. Without a plan it returns nil.
func (x *explainer) planned(f Found, effects []Effect) []Planned {
	if x.Review == nil {
		return nil
	}
	var out []Planned
	for _, c := range x.Review.Changes {
		r := c.Object.Resource()
		if c.Action == plan.NoOp || !f.has(c.Object.Instance) && !slices.ContainsFunc(effects, func(e Effect) bool {
			return e.of != f.Declaration && e.of.Kind == program.Resource && e.of.Resource == r
		}) {
			continue
		}
		p := Planned{Address: c.Address, Action: c.Action}
		for _, why := range c.Reasons {
			p.Reasons = append(p.Reasons, why.String())
		}
		out = append(out, p)
	}
	return out
}

// lease returns when the ephemeral resource f is opened and closed, and its receivers: the declarations that receive
// its value, or with a plan, the receivers that the plan lists.
func (x *explainer) lease(f Found) *Lease {
	l := &Lease{}
	whole := &effects{explainer: x, seen: map[string]bool{}}
	whole.follow(f.Declaration, nil)
	for _, e := range whole.list {
		if e.Receives && !slices.Contains(l.Receivers, e.Address) {
			l.Receivers = append(l.Receivers, e.Address)
		}
	}
	for _, planned := range x.Leases {
		if i, err := addr.ParseInstance(planned.Addr); err == nil && i.Resource() == f.Resource {
			if !l.FromPlan {
				l.Receivers, l.FromPlan = nil, true
			}
			l.Receivers = append(l.Receivers, planned.Receivers...)
		}
	}
	switch {
	case x.Review != nil && !l.FromPlan:
		l.Opens, l.Receivers = "The apply of the plan does not open it, because no receiver of its value has work.", nil
	case len(l.Receivers) == 0:
		l.Opens = "It is never opened, because nothing receives its value."
	default:
		l.Opens = "It is opened when the first receiver of its value is ready to run."
		l.Closes = "It is closed when the last receiver has finished, also after errors."
	}
	return l
}
