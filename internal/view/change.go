package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// objects looks objects up: their schemas, and what the changes of a plan leave in state entries.
// It serves one goroutine.
type objects struct {
	schemas Schemas
	forms   forms
	types   map[typeKey]*schema.Schema
	hosts   Hosts
}

type typeKey struct {
	provider addr.Provider
	mode     addr.Mode
	name     string
}

func newObjects(s Schemas) *objects { return &objects{schemas: s, types: map[typeKey]*schema.Schema{}} }

// schema is the schema of an object's type, nil if it cannot be had.
func (x *objects) schema(p addr.Provider, o addr.Instance) *schema.Schema {
	key := typeKey{p, o.Mode, o.Type}
	if s, ok := x.types[key]; ok {
		return s
	}
	var found *schema.Schema
	if x.schemas != nil {
		if all := x.schemas.Of(p); all != nil {
			found, _ = all.Type(o.Mode, o.Type)
		}
	}
	x.types[key] = found
	return found
}

// form is how an object of a type looks; without a schema, its values say it.
func (x *objects) form(p addr.Provider, o addr.Instance) *blockForm {
	if s := x.schema(p, o); s != nil {
		return x.forms.block(s.Block)
	}
	return noSchema
}

var noSchema = &blockForm{form: form{kind: fObject, nested: true}}

// stored is the value of an object as it is in a state.
func (x *objects) stored(e *state.Entry, o addr.Instance) mark.Value {
	if e == nil {
		return mark.Value{}
	}
	marks := mark.Paths(e.Sensitive, mark.Sensitive)
	if e.Flatmap != nil {
		return mark.Value{Raw: flatValue(e.Flatmap), Marks: marks}
	}
	if s := x.schema(e.Provider.Provider, o); s != nil {
		if v, err := s.DecodeJSON(e.Attrs); err == nil {
			return mark.Value{Raw: v, Marks: marks}
		}
	}
	return mark.Value{Raw: untyped(e.Attrs), Marks: marks}
}

// untyped is an object whose schema is not at hand, or of another version than its attributes.
func untyped(attrs []byte) cty.Value {
	ty, err := ctyjson.ImpliedType(attrs)
	if err != nil {
		return cty.EmptyObjectVal
	}
	v, err := ctyjson.Unmarshal(attrs, ty)
	if err != nil || !v.Type().IsObjectType() {
		return cty.EmptyObjectVal
	}
	return v
}

// flatValue is an object as very old states hold it: names with dots in them.
func flatValue(m map[string]string) cty.Value {
	attrs := map[string]cty.Value{}
	for k, v := range m {
		attrs[k] = cty.StringVal(v)
	}
	return cty.ObjectVal(attrs)
}

// values are what a change goes from and to.
func (x *objects) values(c *plan.Change) (before, after mark.Value) {
	if c.Unchanged {
		v := x.stored(c.Entry, c.Object.Instance)
		return v, v
	}
	return c.Before, c.After
}

func (x *objects) document(f *blockForm, v mark.Value) *val {
	if v.Raw == cty.NilVal || v.Raw.IsKnown() && v.Raw.IsNull() {
		return nil
	}
	return document(v.Raw, &f.form, secretTree(v))
}

// diff compares what a change goes from and to.
func (x *objects) diff(c *plan.Change, relevant *tree, o Options) *blockNode {
	f := x.form(c.Provider.Provider, c.Object.Instance)
	before, after := x.values(c)
	b, a := x.document(f, before), x.document(f, after)
	if c.Action == plan.Forget {
		a = b
	}
	d := &differ{secrets: o.ShowSensitive, replaced: c.Action.Replaces()}
	paths := &tree{}
	for _, p := range c.Replace {
		paths.add(p)
	}
	for _, p := range c.Sent {
		paths.node(p).sent = true
	}
	return d.block(f, b, a, paths, relevant)
}

// ordered sorts changes as the peers show them: by module, data sources before what is managed.
func ordered(changes []*plan.Change) []*plan.Change {
	out := slices.Clone(changes)
	slices.SortStableFunc(out, func(a, b *plan.Change) int {
		return cmp.Or(a.Object.Module.Compare(b.Object.Module), compareModes(a.Object.Mode, b.Object.Mode), a.Object.Compare(b.Object))
	})
	return out
}

// compareModes puts data sources first.
func compareModes(a, b addr.Mode) int {
	switch isData := a == addr.Data; {
	case isData == (b == addr.Data):
		return 0
	case isData:
		return -1
	}
	return 1
}

// shown reports whether a change is one that people want to see.
func shown(c *plan.Change) bool {
	if c.Object.Mode == addr.Data {
		return c.Action == plan.Read
	}
	return c.Action != plan.NoOp || moved(c) || c.Importing != nil
}

func moved(c *plan.Change) bool { return c.Was != c.Object && c.Was.Type != "" }

// change writes a change with what is said about it.
func (r *renderer) change(c *plan.Change, n *blockNode, drift bool) {
	forget := c.Action == plan.Forget
	margin := "  "
	if forget {
		margin = " "
	}
	for i, l := range headings(c, r.o, drift) {
		if i == 0 {
			r.WriteString(r.o.paint(margin+"# "+l.bold, bold) + l.text + r.o.paint(l.loud, bold, red) + l.rest + "\n")
			continue
		}
		r.WriteString(margin + "# " + l.text + "\n")
	}
	switch action := c.Action; {
	case forget:
		r.WriteString(" . ")
	case drift && action == plan.Delete:
		r.WriteString("  " + r.o.paint("-", red) + " ")
	default:
		r.WriteString(r.o.actionSymbol(action) + " ")
	}
	fmt.Fprintf(r, "%s %s %s {\n", c.Object.Mode.Block(), quote(c.Object.Type), quote(c.Object.Name))
	r.block(n, how{suffix: true, all: c.Importing != nil})
	r.WriteString("    }\n\n")
}

// actionSymbol is the symbol of an action, three columns wide.
func (o Options) actionSymbol(a plan.Action) string {
	plus, minus := o.paint("+", green), o.paint("-", red)
	switch a {
	case plan.Create:
		return "  " + plus
	case plan.Read:
		return " " + o.paint("<=", green)
	case plan.Update:
		return "  " + o.paint("~", yellow)
	case plan.DeleteCreate:
		return minus + "/" + plus
	case plan.CreateDelete:
		return plus + "/" + minus
	case plan.Delete:
		return "  " + minus
	case plan.Forget:
		return "  ."
	case plan.ForgetCreate:
		return "./" + plus
	}
	return "   "
}

// heading is a line above a change: an address, what happens, the word in it that must not be
// overlooked, and the rest.
type heading struct{ bold, text, loud, rest string }

// headings say what happens to an object and why.
func headings(c *plan.Change, o Options, drift bool) []heading {
	name := escapeLine(c.Object.String())
	first := func(text, loud string) []heading { return []heading{{name, text, loud, ""}} }
	var out []heading
	remark := func(format string, a ...any) {
		out = append(out, heading{text: escapeLine(fmt.Sprintf("("+format+")", a...))})
	}
	if drift {
		return driftHeadings(c, name)
	}
	switch c.Action {
	case plan.Create:
		out = first(" will be created", "")
	case plan.Read:
		out = first(" will be read during apply", "")
		if why := readReason(c.Why); why != "" {
			remark("%s", why)
		}
	case plan.Update:
		out = first(" will be updated in-place", "")
	case plan.Delete:
		out = first(" will be ", "destroyed")
		if c.Object.IsDeposed() {
			remark("left over from a partially-failed replacement of this instance")
		} else if why := deleteReason(c); why != "" {
			remark("%s", why)
		}
	case plan.Forget:
		out = first(fmt.Sprintf(" will no longer be managed by %s, but will not be destroyed", o.product()), "")
		if c.Object.IsDeposed() {
			remark("left over from a partially-failed replacement of this instance")
		}
		if c.SkipDestroy {
			remark("destroy = false is set in the configuration")
		} else {
			remark("it was removed from the configuration, which does not say whether to destroy it")
		}
	case plan.DeleteCreate, plan.CreateDelete, plan.ForgetCreate:
		out = replaceHeadings(c, name)
		if c.Action == plan.ForgetCreate {
			remark("the existing object is forgotten, not destroyed: destroy = false is set in the configuration")
		}
		if c.Action == plan.CreateDelete && c.FirstFor != "" {
			remark("created before the old one is destroyed, because of %s", c.FirstFor)
		}
	default:
		switch {
		case moved(c):
			out = []heading{{bold: escapeLine(c.Was.String()), text: " has moved to "}}
			out[0].text += o.paint(name, bold)
		case c.Importing != nil:
			out = first(" will be imported", "")
		default:
			out = first("", "")
		}
		if c.Generated != "" {
			remark("config will be generated")
		}
		if moved(c) && c.Importing != nil {
			remark("%s", imported(c.Importing))
		}
		return out
	}
	if moved(c) {
		remark("moved from %s", c.Was)
	}
	if c.Importing != nil {
		remark("%s", imported(c.Importing))
		if c.Action.Replaces() {
			out = append(out, heading{text: o.paint("Warning: this will destroy the imported resource", yellow)})
		}
	}
	return out
}

func replaceHeadings(c *plan.Change, name string) []heading {
	switch c.Why {
	case plan.ReplaceTainted:
		return []heading{{name, " is tainted, so must be ", "replaced", ""}}
	case plan.ReplaceByRequest:
		return []heading{{name, " will be ", "replaced", ", as requested"}}
	case plan.ReplaceByTriggers:
		return []heading{{name, " will be ", "replaced", " due to changes in replace_triggered_by"}}
	}
	return []heading{{name, " must be ", "replaced", ""}}
}

func driftHeadings(c *plan.Change, name string) []heading {
	switch {
	case c.Action == plan.Delete:
		return []heading{{name, " has been ", "deleted", ""}}
	case c.Action == plan.NoOp && moved(c):
		return []heading{{bold: escapeLine(c.Was.String()), text: " has moved to " + name}}
	case moved(c):
		return []heading{{bold: name, text: " has changed"}, {text: escapeLine(fmt.Sprintf("(moved from %s)", c.Was))}}
	}
	return []heading{{bold: name, text: " has changed"}}
}

func imported(i *plan.Importing) string {
	switch {
	case i.Unknown:
		return "imported from an id that is known after apply"
	case i.ID == "" && i.Identity != cty.NilVal && !i.Identity.IsNull():
		return "imported by identity " + compact(i.Identity)
	}
	return "imported from " + quote(i.ID)
}

func readReason(why plan.Reason) string {
	switch why {
	case plan.ReadConfigUnknown:
		return "config refers to values not yet known"
	case plan.ReadDependencyPending:
		return "depends on a resource or a module with changes pending"
	case plan.ReadCheckNested:
		return "config will be reloaded to verify a check block"
	}
	return ""
}

// deleteReason says why an object is not wanted any more.
func deleteReason(c *plan.Change) string {
	switch c.Why {
	case plan.DeleteNoResource:
		return fmt.Sprintf("because %s is not in configuration", c.Object.Abs().Local())
	case plan.DeleteNoMoveTarget:
		return fmt.Sprintf("because %s was moved to %s, which is not in configuration", c.Was, c.Object.Abs())
	case plan.DeleteNoModule:
		return fmt.Sprintf("because %s is not in configuration", c.Object.Module)
	case plan.DeleteWrongRepetition:
		if _, ok := c.Object.Key.Int(); ok {
			return "because resource does not use count"
		}
		if _, ok := c.Object.Key.Str(); ok {
			return "because resource does not use for_each"
		}
		return "because resource uses count or for_each"
	case plan.DeleteCountIndex:
		return fmt.Sprintf("because index %s is out of range for count", c.Object.Key)
	case plan.DeleteEachKey:
		return fmt.Sprintf("because key %s is not in for_each map", c.Object.Key)
	case plan.DeleteDisabled:
		return "because enabled is false in its lifecycle block"
	}
	return ""
}

func itoa(n int) string { return strconv.Itoa(n) }
