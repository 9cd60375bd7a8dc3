package program

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
)

// ActionConfig is the name of the block inside an action block that has the provider's arguments.
const ActionConfig = "config"

// ActionBody returns the schema of the body of an action block. config is the provider's schema of the action. The
// block config is optional if no argument in it is required.
func ActionBody(config *schema.Block) *schema.Block {
	return &schema.Block{Blocks: []*schema.Nested{configBlock(ActionConfig, config)}}
}

// configBlock returns the schema of a nested block with the arguments of a provider. The block is optional if no
// argument is required.
func configBlock(name string, config *schema.Block) *schema.Nested {
	n := &schema.Nested{Name: name, Block: config, Nesting: schema.Single, Max: 1}
	for _, a := range config.Attrs {
		if a.Required {
			n.Min = 1
		}
	}
	for _, b := range config.Blocks {
		n.Min = max(n.Min, min(b.Min, 1))
	}
	return n
}

// actionTriggers compiles the action_trigger blocks of all resources, after all actions.
//
// A resource gets all references of the actions that its triggers invoke, because such an action is treated as a part
// of the resource, like a provisioner. The resource gets no reference to the action itself, because an action may refer
// to the resource that invokes it.
func (c *compiler) actionTriggers() {
	for _, d := range c.u.Defs {
		if d.Kind != Resource || len(d.Src.Res.Lifecycle.ActionTriggers) == 0 {
			continue
		}
		c.d, c.check = d, ""
		pl := c.inside(d.Repeat)
		tested := pl
		tested.Self = true
		for _, t := range d.Src.Res.Lifecycle.ActionTriggers {
			out := &ActionTrigger{ActionTrigger: t, Test: c.in(ByAction, tested).optional(t.Condition)}
			for _, ref := range t.Actions {
				i, ok := c.u.actions[ref.Name]
				if !ok {
					c.undeclaredAction(ref.Name.In(c.n.Config.Path).Local(), ref.Range)
					continue
				}
				target := c.u.Defs[i]
				switch repeated := target.Repeat.Count != nil || target.Repeat.ForEach != nil; {
				case repeated && ref.Key == nil:
					c.error("Missing action instance key", fmt.Sprintf("Because %s has \"count\" or \"for_each\" set, action_trigger blocks must name instances of it, such as %[1]s[%[2]s].", localName(ref.Name), keyExample(target)), ref.Range)
					continue
				case !repeated && ref.Key != nil:
					c.error("Unexpected action instance key", fmt.Sprintf("Because %s does not have \"count\" or \"for_each\" set, references to it must not include an index key. Remove the bracketed index.", localName(ref.Name)), ref.Range)
					continue
				}
				out.Invokes = append(out.Invokes, ActionRef{Local: i, Key: c.in(ByAction, pl).optional(ref.Key), At: ref.Range})
				c.partOf(d, target, ref.Range)
			}
			d.Lifecycle.ActionTriggers = append(d.Lifecycle.ActionTriggers, out)
		}
		d.refs.seen = nil
	}
}

func keyExample(d *Def) string {
	if d.Repeat.ForEach != nil {
		return `"key"`
	}
	return "0"
}

func (c *compiler) undeclaredAction(name string, at diag.Range) {
	if c.u.Module.Unreadable() {
		c.failed = true
		return
	}
	var names []string
	for n := range c.u.actions {
		names = append(names, localName(n))
	}
	slices.Sort(names)
	c.error("Reference to undeclared action", fmt.Sprintf("%s has not been declared %s. Triggers can only name actions of the same module.%s", name, moduleOf(c.n), diag.DidYouMean(name, names)), at)
}

// partOf adds the references of an action to the resource d that invokes the action. It omits references to d that mean
// the object whose change invokes the action. For other references to d, partOf reports an error.
func (c *compiler) partOf(d, action *Def, at diag.Range) {
	if _, done := d.refs.parts[action.Src.Res]; done {
		return
	}
	list := []use{}
	for _, u := range action.refs.uses {
		switch {
		case u.local == d.Index && (u.hint == Single || u.hint == Same):
			continue // the action may use the object that invokes it
		case u.local == d.Index:
			c.bag.Add(diag.Errorf("Reference to triggering resource", "%s invokes this action, and the action refers to instances of %[1]s by their keys. Use \"caller\" for the object whose change invokes the action.", localName(d.Src.Res.Name)).At(u.at).See("invoked here", at))
			c.failed = true
			continue
		case u.hint == Same:
			u.hint = AllKeys // Same would mean the key of the action, which may differ from the key of the resource
		}
		u.why = ByAction
		list = append(list, u)
		c.d.refs.add(u)
	}
	d.refs.parts[action.Src.Res] = list
}
