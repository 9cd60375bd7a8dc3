package view

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
)

// checks writes the results of conditions, sorted by address.
func (d *doc) checks(list []state.Check) {
	if len(list) == 0 {
		return
	}
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b state.Check) int { return strings.Compare(a.Addr, b.Addr) })
	d.Key("checks")
	d.array(func() {
		for _, c := range sorted {
			d.object(func() { d.check(c) })
		}
	})
}

func (d *doc) check(c state.Check) {
	d.Key("address")
	d.object(func() { d.checkAddress(c) })
	d.keyStr("status", c.Status.String())
	if len(c.Objects) == 0 {
		return
	}
	d.Key("instances")
	d.array(func() {
		for _, o := range c.Objects {
			d.object(func() { d.checkedObject(c.Kind, o) })
		}
	})
}

// checkAddress says what has the conditions. Outputs have another name here than in states.
func (d *doc) checkAddress(c state.Check) {
	kind := c.Kind
	if kind == "output" {
		kind = "output_value"
	}
	d.keyStr("kind", kind)
	if r, err := addr.ParseTarget(c.Addr); c.Kind == "resource" && err == nil {
		res := r.Resource()
		d.keyStr("mode", res.Mode.String())
		if !res.Module.IsRoot() {
			d.keyStr("module", res.Module.String())
		}
		d.keyStr("name", res.Name)
		d.keyStr("to_display", c.Addr)
		d.keyStr("type", res.Type)
		return
	}
	module, name := splitCheck(c.Kind, c.Addr)
	if module != "" {
		d.keyStr("module", module)
	}
	d.keyStr("name", name)
	d.keyStr("to_display", c.Addr)
}

// splitCheck takes the module off an address such as module.a["x.y"].output.name.
func splitCheck(kind, address string) (module, name string) {
	word := kind + "."
	i := strings.LastIndex("."+address, "."+word)
	if i < 0 {
		return "", address
	}
	return strings.TrimSuffix(address[:i], "."), address[i+len(word):]
}

func (d *doc) checkedObject(kind string, o state.CheckedObject) {
	d.Key("address")
	d.object(func() {
		module := ""
		if i, err := addr.ParseInstance(o.Addr); kind == "resource" && err == nil {
			if !i.Key.IsNone() {
				d.Key("instance_key")
				d.instanceKey(i.Key)
			}
			module = i.Module.String()
		} else {
			module, _ = splitCheck(kind, o.Addr)
		}
		if module != "" {
			d.keyStr("module", module)
		}
		d.keyStr("to_display", o.Addr)
	})
	d.keyStr("status", o.Status.String())
	if len(o.Failures) == 0 {
		return
	}
	d.Key("problems")
	d.array(func() {
		for _, m := range o.Failures {
			d.object(func() { d.keyStr("message", m) })
		}
	})
}
