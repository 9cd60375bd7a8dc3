package view

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// WritePlanJSON writes a plan as `show -json` prints it, format 1.2. It holds one change at a time.
// program is the configuration that was planned; without it, there is no such section.
func WritePlanJSON(w io.Writer, p *plan.Plan, program *program.Program, sch Schemas, hosts Hosts, version string) error {
	d := &planDoc{doc: newDoc(w), objects: newObjects(sch), p: p, changes: ordered(p.Changes)}
	d.hosts = hosts
	d.object(func() { d.write(program, version) })
	return d.end()
}

type planDoc struct {
	*doc
	*objects
	p       *plan.Plan
	changes []*plan.Change
}

func (d *planDoc) write(program *program.Program, version string) {
	d.keyStr("format_version", formatPlan)
	d.keyStr("terraform_version", version)
	d.variables()
	d.planned()
	d.list("resource_drift", ordered(d.p.Drift))
	d.list("resource_changes", d.changes)
	d.deferred()
	d.outputChanges()
	if s := d.p.Refreshed; s != nil && (s.Len() > 0 || len(s.Outputs) > 0) {
		d.Key("prior_state")
		d.object(func() {
			d.keyStr("format_version", formatState)
			d.stateBody(s, d.objects, version)
		})
	}
	if program != nil {
		d.Key("configuration")
		d.configuration(program, d.objects)
	}
	d.relevant()
	d.checks(d.p.Checks)
	d.keyStr("timestamp", d.p.Timestamp.UTC().Format(time.RFC3339))
	d.KeyBool("applyable", d.p.Applyable())
	d.KeyBool("complete", d.p.Complete)
	d.KeyBool("errored", d.p.Errored)
}

// variables writes the root variables as they were set; ephemeral ones are not among them.
func (d *planDoc) variables() {
	if len(d.p.Variables) == 0 {
		return
	}
	d.Key("variables")
	d.object(func() {
		for _, name := range slices.Sorted(maps.Keys(d.p.Variables)) {
			d.Key(name)
			d.object(func() {
				d.Key("value")
				d.value(d.p.Variables[name].Value)
			})
		}
	})
}

// planned writes what there will be, as far as it is known.
func (d *planDoc) planned() {
	d.Key("planned_values")
	d.object(func() {
		d.plannedOutputs()
		m := d.modules()
		for _, c := range d.changes {
			_, after := d.values(c)
			if c.Object.IsDeposed() || !exists(after) || c.Action == plan.Delete || c.Action == plan.Forget {
				continue
			}
			m.resource(c.Object.Module, func() { d.plannedObject(c, after) })
		}
		m.end()
	})
}

// exists reports whether a value is an object.
func exists(v mark.Value) bool { return v.Raw != cty.NilVal && !v.Raw.IsNull() }

func (d *planDoc) plannedObject(c *plan.Change, after mark.Value) {
	p := c.Provider.Provider
	d.address(c.Object.Instance)
	d.keyStr("provider_name", d.hosts.of(p).String())
	version := int64(0)
	if s := d.schema(p, c.Object.Instance); s != nil {
		version = s.Version
	}
	d.KeyInt("schema_version", version)
	d.Key("values")
	d.value(after.Raw)
	d.sensitiveObject("sensitive_values", after, d.form(p, c.Object.Instance))
	d.identity("identity", c.Identity)
}

func (d *doc) identity(name string, v cty.Value) {
	if v != cty.NilVal && !v.IsNull() {
		d.Key(name)
		d.value(v)
	}
}

func (d *planDoc) plannedOutputs() {
	var outs []*plan.OutputChange
	for _, o := range d.p.Outputs {
		if o.Action != plan.Delete {
			outs = append(outs, o)
		}
	}
	if len(outs) == 0 {
		return
	}
	d.Key("outputs")
	d.object(func() {
		for _, o := range outs {
			d.Key(o.Name)
			d.object(func() {
				d.KeyBool("sensitive", o.Sensitive)
				if v := o.After.Raw; v != cty.NilVal && v.IsWhollyKnown() {
					d.Key("type")
					d.typeOf(v.Type())
					d.Key("value")
					d.value(v)
				}
			})
		}
	})
}

// list writes changes, unless there are none.
func (d *planDoc) list(name string, changes []*plan.Change) {
	if len(changes) == 0 {
		return
	}
	d.Key(name)
	d.array(func() {
		for _, c := range changes {
			d.object(func() { d.change(c) })
		}
	})
}

func (d *planDoc) change(c *plan.Change) {
	i := c.Object.Instance
	d.keyStr("address", i.String())
	if moved(c) {
		d.keyStr("previous_address", c.Was.Instance.String())
	}
	if !i.Module.IsRoot() {
		d.keyStr("module_address", i.Module.String())
	}
	d.named(i)
	d.keyStr("provider_name", d.hosts.of(c.Provider.Provider).String())
	if c.Object.IsDeposed() {
		d.keyStr("deposed", c.Object.Deposed)
	}
	d.Key("change")
	d.object(func() { d.changeValues(c) })
	if c.Why != plan.NoReason {
		d.keyStr("action_reason", string(c.Why))
	}
}

func (d *planDoc) changeValues(c *plan.Change) {
	before, after := d.values(c)
	f := d.form(c.Provider.Provider, c.Object.Instance)
	if c.Action == plan.Forget {
		after = mark.Value{}
	}
	d.strings("actions", actionNames(c.Action))
	d.Key("before")
	d.value(before.Raw)
	d.Key("after")
	d.value(after.Raw)
	d.Key("after_unknown")
	if exists(after) && !after.Raw.IsWhollyKnown() {
		d.unknowns(after.Raw)
	} else {
		d.Word("{}")
	}
	d.sensitiveObject("before_sensitive", before, f)
	d.sensitiveObject("after_sensitive", after, f)
	if len(c.Replace) > 0 {
		d.Key("replace_paths")
		d.array(func() {
			for _, p := range c.Replace {
				d.path(p)
			}
		})
	}
	if c.Importing != nil {
		d.Key("importing")
		d.object(func() { d.importing(c.Importing) })
	}
	if c.Generated != "" {
		d.keyStr("generated_config", c.Generated)
	}
	d.identity("before_identity", c.BeforeIdentity)
	d.identity("after_identity", c.Identity)
}

func (d *doc) importing(i *plan.Importing) {
	switch {
	case i.Unknown:
		d.KeyBool("unknown", true)
	case i.ID != "":
		d.keyStr("id", i.ID)
	}
	d.identity("identity", i.Identity)
}

// path writes the steps of a path: names and indexes. A step that cannot be named ends it.
func (d *doc) path(p cty.Path) {
	d.array(func() {
		for _, s := range p {
			switch s := s.(type) {
			case cty.GetAttrStep:
				d.str(s.Name)
			case cty.IndexStep:
				if s.Key.IsKnown() && !s.Key.IsNull() && (s.Key.Type() == cty.String || s.Key.Type() == cty.Number) {
					d.value(s.Key)
					continue
				}
				return
			}
		}
	})
}

// actionNames are the actions that make up an action, in order.
func actionNames(a plan.Action) []string {
	switch a {
	case plan.DeleteCreate:
		return []string{"delete", "create"}
	case plan.CreateDelete:
		return []string{"create", "delete"}
	case plan.ForgetCreate:
		return []string{"forget", "create"}
	}
	return []string{a.String()}
}

// deferred writes what can only be planned after this plan was applied.
func (d *planDoc) deferred() {
	if len(d.p.Deferred) == 0 {
		return
	}
	d.Key("deferred_changes")
	d.array(func() {
		for _, c := range ordered(d.p.Deferred) {
			d.object(func() {
				d.keyStr("reason", "unknown")
				d.Key("resource_change")
				d.object(func() { d.change(c) })
			})
		}
	})
}

func (d *planDoc) outputChanges() {
	if len(d.p.Outputs) == 0 {
		return
	}
	d.Key("output_changes")
	d.object(func() {
		for _, o := range d.p.Outputs {
			d.Key(o.Name)
			d.object(func() { d.outputChange(o) })
		}
	})
}

func (d *planDoc) outputChange(o *plan.OutputChange) {
	d.strings("actions", actionNames(o.Action))
	d.Key("before")
	d.value(o.Before.Raw)
	v := o.After.Raw
	if v == cty.NilVal || v.IsKnown() {
		d.Key("after")
		d.value(v)
	}
	d.Key("after_unknown")
	if v != cty.NilVal && !v.IsWhollyKnown() {
		d.unknowns(v)
	} else {
		d.Bool(false)
	}
	secret := o.Sensitive || d.p.Previous != nil && d.p.Previous.Outputs[o.Name].Sensitive // until it is applied
	d.KeyBool("before_sensitive", secret)
	d.KeyBool("after_sensitive", secret)
}

// relevant writes which attributes the changes depend on.
func (d *planDoc) relevant() {
	if len(d.p.Relevant) == 0 {
		return
	}
	d.Key("relevant_attributes")
	d.array(func() {
		for _, r := range d.p.Relevant {
			d.object(func() {
				d.keyStr("resource", r.Resource.Instance(r.Key).String())
				d.Key("attribute")
				d.path(r.Path)
			})
		}
	})
}
