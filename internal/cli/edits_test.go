package cli_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A draft is a random configuration of terraform_data resources, which edit changes, for TestEditsBesidePeer.
type draft struct {
	*rand.Rand
	root, module []*part
	call         repeat   // the count or for_each of the call of module m
	called       string   // the name of the module call, "" if it was removed
	extra        []string // moved, removed and import blocks
	fresh        int      // the number of resource names that were used
}

// part is one resource.
type part struct {
	name     string
	repeat   repeat
	first    bool // create_before_destroy
	replace  int  // the value of triggers_replace
	input    int
	uses     []string // references to other resources
	trigger  string   // replace_triggered_by; "" for none
	declared bool     // false after the edit has removed the resource
}

// repeat is a count or for_each argument.
type repeat struct {
	count int // -1: no count
	keys  []string
}

var single = repeat{count: -1}

func (r repeat) String() string {
	switch {
	case r.keys != nil:
		return fmt.Sprintf("  for_each = toset(%s)\n", strings.ReplaceAll(fmt.Sprintf("%q", r.keys), " ", ", "))
	case r.count >= 0:
		return fmt.Sprintf("  count = %d\n", r.count)
	}
	return ""
}

// instances returns the suffixes of the addresses of the instances, such as "[0]"; without count and for_each, the only
// suffix is "".
func (r repeat) instances() []string {
	var out []string
	for i := range max(r.count, 0) {
		out = append(out, fmt.Sprintf("[%d]", i))
	}
	for _, k := range r.keys {
		out = append(out, fmt.Sprintf("[%q]", k))
	}
	if r.count < 0 && r.keys == nil {
		out = []string{""}
	}
	return out
}

// one returns true with the probability 1/n.
func (d *draft) one(n int) bool { return d.IntN(n) == 0 }

func (d *draft) repeat() repeat {
	switch d.IntN(5) {
	case 0:
		return repeat{count: d.IntN(4)}
	case 1:
		var keys []string
		for _, k := range []string{"p", "q", "r"} {
			if !d.one(3) {
				keys = append(keys, k)
			}
		}
		if keys != nil {
			return repeat{count: -1, keys: keys}
		}
	}
	return single
}

// newDraft returns a random configuration before its edit.
func newDraft(seed uint64) *draft {
	d := &draft{Rand: rand.New(rand.NewPCG(seed, 7)), call: single}
	for range 2 + d.IntN(3) {
		d.root = append(d.root, d.part(d.root))
	}
	if d.one(2) {
		d.called, d.call = "m", d.repeat()
		for range 1 + d.IntN(2) {
			d.module = append(d.module, d.part(d.module))
		}
	}
	return d
}

func (d *draft) part(before []*part) *part {
	d.fresh++
	p := &part{name: string(rune('a'+d.fresh-1)) + "_", repeat: d.repeat(), first: d.one(3), declared: true}
	for _, b := range before {
		if d.one(2) {
			p.uses = append(p.uses, d.reference(b))
		}
	}
	return p
}

// reference returns an expression that refers to the resource p.
func (d *draft) reference(p *part) string {
	at := "terraform_data." + p.name
	switch {
	case p.repeat.keys != nil:
		return "[for k, r in " + at + " : r.id]"
	case p.repeat.count >= 0:
		return at + "[*].id"
	}
	return at + ".id"
}

// edit changes the configuration as a user would, and adds moved, removed and import blocks for the changes.
func (d *draft) edit() {
	d.editParts(&d.root, "")
	if d.called != "" {
		d.editParts(&d.module, "module."+d.called+".")
		d.editCall()
	}
	if d.one(3) {
		d.anyMove()
	}
	for _, p := range d.root {
		if d.one(8) && p.declared {
			if i := p.repeat.instances(); len(i) > 0 {
				d.extra = append(d.extra, fmt.Sprintf("import {\n  to = terraform_data.%s%s\n  id = \"imported\"\n}\n", p.name, i[0]))
			}
			break
		}
	}
}

func (d *draft) editParts(list *[]*part, in string) {
	for _, p := range *list {
		switch d.IntN(9) {
		case 0:
			p.replace++
		case 1:
			p.input++
		case 2:
			p.uses = nil
			p.replace += d.IntN(2)
		case 3:
			p.first = !p.first
			p.replace += d.IntN(2)
		case 4:
			p.declared = false
			d.removed(in + "terraform_data." + p.name)
		case 5:
			d.rename(p, in)
		case 6:
			d.rerepeat(p, in)
		}
	}
	if d.one(3) {
		*list = append(*list, d.part(d.declared(*list)))
	}
	d.references(*list)
}

func (d *draft) declared(list []*part) []*part {
	return slices.DeleteFunc(slices.Clone(list), func(p *part) bool { return !p.declared })
}

// references removes the references of the resources in list to resources that no longer exist, and adds new
// references.
func (d *draft) references(list []*part) {
	for i, p := range list {
		before := d.declared(list[:i])
		had := len(p.uses) > 0
		p.uses, p.trigger = nil, ""
		for _, b := range before {
			if had && !d.one(3) || d.one(4) {
				p.uses = append(p.uses, d.reference(b))
			}
			if d.one(8) {
				p.trigger = "terraform_data." + b.name
				if b.repeat.count < 0 && b.repeat.keys == nil && d.one(2) {
					p.trigger += ".input"
				}
			}
		}
	}
}

func (d *draft) moved(from, to string) {
	d.extra = append(d.extra, fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", from, to))
}

func (d *draft) removed(from string) {
	if strings.HasPrefix(from, "module.") && d.call.String() != "" && d.one(2) {
		return
	}
	switch d.IntN(5) {
	case 0:
		d.extra = append(d.extra, fmt.Sprintf("removed {\n  from = %s\n}\n", from))
	case 1, 2:
		d.extra = append(d.extra, fmt.Sprintf("removed {\n  from = %s\n  lifecycle {\n    destroy = %v\n  }\n}\n", from, d.one(2)))
	}
}

func (d *draft) rename(p *part, in string) {
	old := p.name
	d.fresh++
	p.name = string(rune('a'+d.fresh-1)) + "_"
	was := p.repeat
	if d.one(3) {
		p.repeat = d.repeat()
	}
	if d.one(5) {
		return
	}
	from, to := in+"terraform_data."+old, in+"terraform_data."+p.name
	if was.String() != p.repeat.String() || d.one(3) {
		d.moveSome(from, to, was, p.repeat)
		return
	}
	d.moved(from, to)
}

func (d *draft) rerepeat(p *part, in string) {
	was := p.repeat
	p.repeat = d.repeat()
	if !d.one(3) {
		d.moveSome(in+"terraform_data."+p.name, in+"terraform_data."+p.name, was, p.repeat)
	}
}

// moveSome adds moved blocks from some instances of one resource or module to instances of another. from and to are the
// two addresses without keys. The parameters was and is are their repetitions (count or for_each), in the same order.
func (d *draft) moveSome(from, to string, was, is repeat) {
	left, there := was.instances(), is.instances()
	d.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	for i, k := range there {
		if i < len(left) && from+left[i] != to+k && !d.one(4) {
			d.moved(from+left[i], to+k)
		}
	}
}

func (d *draft) editCall() {
	was, name := d.call, d.called
	switch d.IntN(6) {
	case 0:
		d.called = "n"
		if !d.one(4) {
			d.moved("module.m", "module.n")
		}
	case 1:
		d.call = d.repeat()
		if !d.one(3) {
			d.moveSome("module."+name, "module."+d.called, was, d.call)
		}
	case 2:
		d.called = ""
		if d.one(2) {
			d.removed("module.m")
		}
	}
}

// anyMove adds a moved block between two random addresses.
func (d *draft) anyMove() {
	var places []string
	add := func(in string, list []*part) {
		for _, p := range list {
			for _, i := range append(p.repeat.instances(), "", "[0]", `["q"]`) {
				places = append(places, in+"terraform_data."+p.name+i)
			}
		}
	}
	add("", d.root)
	add("module.m.", d.module)
	for _, i := range d.call.instances() {
		add("module.m"+i+".", d.module)
	}
	from, to := places[d.IntN(len(places))], places[d.IntN(len(places))]
	if from != to {
		d.moved(from, to)
	}
}

// write returns the files of the configuration, by name.
func (d *draft) write() map[string]string {
	var b strings.Builder
	for _, p := range d.declared(d.root) {
		p.write(&b)
	}
	if d.called != "" {
		fmt.Fprintf(&b, "module %q {\n  source = \"./m\"\n%s}\n", d.called, d.call)
	}
	for _, x := range d.extra {
		b.WriteString(x)
	}
	var m strings.Builder
	for _, p := range d.declared(d.module) {
		p.write(&m)
	}
	return map[string]string{"main.tf": b.String(), "m/main.tf": m.String()}
}

func (p *part) write(b *strings.Builder) {
	fmt.Fprintf(b, "resource \"terraform_data\" %q {\n%s", p.name, p.repeat)
	fmt.Fprintf(b, "  input = [%d, %s]\n  triggers_replace = %d\n", p.input, strings.Join(append(p.uses, "0"), ", "), p.replace)
	if p.first || p.trigger != "" {
		b.WriteString("  lifecycle {\n")
		if p.first {
			b.WriteString("    create_before_destroy = true\n")
		}
		if p.trigger != "" {
			fmt.Fprintf(b, "    replace_triggered_by = [%s]\n", p.trigger)
		}
		b.WriteString("  }\n")
	}
	b.WriteString("}\n")
}
