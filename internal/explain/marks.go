package explain

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/zclconf/go-cty/cty"
)

// marks finds the reasons why a value is sensitive, ephemeral or unknown.
func (x *explainer) marks(v *Value) {
	m := marks{v: v}
	m.walk(v.From, true, true)
	x.unknown(v)
}

// marks collects the reasons among the sources of a value.
type marks struct{ v *Value }

// walk adds the reasons why a source is sensitive, ephemeral or unknown, and the reasons of the sources of this source.
// It searches for the reasons of sensitive and ephemeral values only if the parameter of that name is true. The search
// does not enter the arguments of a function that removes the mark.
func (m marks) walk(s *Source, sensitive, ephemeral bool) {
	d := s.of
	declares := func(is bool, list *[]Reason, what string) {
		if is {
			add(list, Reason{fmt.Sprintf("%s is declared %s.", Name(d), what), d.Range})
		}
	}
	if d.Var != nil {
		declares(sensitive && d.Var.Sensitive, &m.v.Sensitive, "sensitive")
		declares(ephemeral && d.Var.Ephemeral, &m.v.Ephemeral, "ephemeral")
	}
	if d.Out != nil {
		declares(sensitive && d.Out.Sensitive, &m.v.Sensitive, "sensitive")
		declares(ephemeral && d.Out.Ephemeral, &m.v.Ephemeral, "ephemeral")
	}
	if d.Kind == program.Resource {
		if ephemeral && d.Resource.Mode == addr.Ephemeral {
			add(&m.v.Ephemeral, Reason{fmt.Sprintf("%s is an ephemeral resource.", Name(d)), d.Range})
		}
		for _, a := range s.attrs {
			if sensitive && a.Sensitive {
				add(&m.v.Sensitive, Reason{fmt.Sprintf("The provider declares %s of %s sensitive.", a.Name, d.Resource.Type), s.At})
			}
			if ephemeral && a.WriteOnly {
				add(&m.v.Ephemeral, Reason{fmt.Sprintf("%s of %s is write-only: the provider receives the value, and neither plan nor state contains it.", a.Name, d.Resource.Type), s.At})
			}
		}
	}
	for _, part := range s.parts {
		for _, c := range part.Calls {
			switch c.Name {
			case "sensitive":
				if sensitive && !part.Within("nonsensitive", c) {
					add(&m.v.Sensitive, Reason{"The function sensitive is called.", c.At})
				}
			case "timestamp", "uuid", "bcrypt":
				add(&m.v.Unknown, Reason{fmt.Sprintf("The function %s returns another value at each call, so a plan does not know it.", c.Name), c.At})
			}
		}
	}
	if d.Kind == program.Resource && d.Resource.Mode == addr.Managed && len(s.path) > 0 && len(s.parts) == 0 && len(s.attrs) > 0 && s.attrs[0].Computed {
		add(&m.v.Unknown, Reason{fmt.Sprintf("The provider computes %s of %s: it is unknown until the object is created, and in an update if the provider announces another value.", s.attrs[len(s.attrs)-1].Name, Name(d)), s.At})
	}
	if d.Kind == program.Resource && d.Resource.Mode == addr.Data {
		add(&m.v.Unknown, Reason{fmt.Sprintf("%s is read during the apply if its arguments are unknown, or if an object that it depends on changes.", Name(d)), d.Range})
	}
	for _, from := range s.From {
		m.walk(from, sensitive && from.sensitive, ephemeral && from.ephemeral)
	}
}

func add(list *[]Reason, r Reason) {
	if !slices.ContainsFunc(*list, func(have Reason) bool { return have.Text == r.Text }) {
		*list = append(*list, r)
	}
}

// unknown adds to v.Unknown each planned object in which the attribute is not wholly known. It adds none without a
// plan, or for a path with more than one name.
func (x *explainer) unknown(v *Value) {
	s := v.From
	if x.Review == nil || len(s.attrs) == 0 || len(s.path) != 1 {
		return
	}
	for _, c := range x.Review.Changes {
		if !x.found.has(c.Object.Instance) || !c.Action.Ups() {
			continue
		}
		raw := c.After.Raw
		if raw == cty.NilVal || raw.IsNull() || !raw.IsKnown() || !raw.Type().IsObjectType() || !raw.Type().HasAttribute(s.path[0]) {
			continue
		}
		if !raw.GetAttr(s.path[0]).IsWhollyKnown() {
			add(&v.Unknown, Reason{Text: fmt.Sprintf("In the plan, %s of %s is known after apply.", s.path[0], c.Address)})
		}
	}
}
