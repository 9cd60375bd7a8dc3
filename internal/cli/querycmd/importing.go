package querycmd

import (
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/config/style"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine/querying"
	"github.com/zclconf/go-cty/cty"
)

// imports collects found objects, to write one file of configuration for each resource type.
type imports struct {
	list []*querying.Result
}

func (i *imports) add(r *querying.Result) error {
	if r.Block != nil {
		i.list = append(i.list, r)
	}
	return nil
}

// fileOf returns the name of the file for the objects of a resource type.
func fileOf(typ string) string { return "import_" + typ + ".tf" }

// write writes the files, and returns their names. If one of these files exists already, or a text contains a secret,
// it reports an error, writes no file and returns false. If a file cannot be written, it reports an error and returns
// false, and the files before it remain.
func (i *imports) write(c *base.Call) ([]string, bool) {
	texts := map[string]*strings.Builder{}
	refs := references(i.list)
	for _, x := range i.list {
		b := texts[x.Type.Name]
		if b == nil {
			b = &strings.Builder{}
			b.WriteString("# __generated__ by Lethe\n# Please review these resources. The import blocks may be removed after the apply.\n")
			texts[x.Type.Name] = b
		}
		g := *x.Block
		g.Refer = refs.of(x)
		b.WriteString("\n" + style.Generate(g) + "\n" + x.Import)
	}
	var names []string
	for _, typ := range slices.Sorted(maps.Keys(texts)) {
		names = append(names, fileOf(typ))
		if !mayWrite(c, fileOf(typ)) || !mayStore(c, texts[typ].String()) {
			return nil, false
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(texts)) {
		if err := writeNew(c.Path(fileOf(typ)), texts[typ].String()); err != nil {
			c.Bag.Add(diag.Errorf("Failed to write generated configuration", "The file %s cannot be written: %s.", fileOf(typ), disk.Reason(err)))
			return nil, false
		}
	}
	return names, true
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if more := f.Close(); err == nil {
		err = more
	}
	return err
}

// shortestReference is the minimum length of a text that is replaced by a reference. Shorter texts may be equal by
// chance.
const shortestReference = 4

// referring has the texts that identify imported objects, such as IDs, and the references between their blocks so far.
type referring struct {
	to    map[string]target   // the targets of references, by the text that identifies exactly one object
	edges map[string][]string // the objects to which the block of an object refers, as addresses
	named map[string]bool     // addresses of objects to which another block refers
}

// target is an attribute of an imported object: the address of the object, and the name of the attribute.
type target struct{ object, attr string }

// references collects the texts that identify results, from attributes that only the provider sets, such as an ID. If a
// text identifies several objects, references drops it.
func references(list []*querying.Result) *referring {
	r := &referring{to: map[string]target{}, edges: map[string][]string{}, named: map[string]bool{}}
	twice := map[string]bool{}
	for _, x := range list {
		object := x.Type.Name + "." + x.Block.Name
		for _, name := range identifying(x) {
			text := x.Block.Value.GetAttr(name).AsString()
			before, known := r.to[text]
			switch {
			case known && before.object != object:
				twice[text] = true
			case !known:
				r.to[text] = target{object, name}
			}
		}
	}
	for text := range twice {
		delete(r.to, text)
	}
	return r
}

// identifies reports whether a text may identify one object. A word of letters and underscores, or a text shorter than
// shortestReference, does not: the word may be a status such as ACTIVE, which an argument of another object has by
// chance.
func identifies(text string) bool {
	return len(text) >= shortestReference && strings.ContainsFunc(text, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) })
}

// identifying returns the names of the attributes whose text may identify the object x. The attribute id is the first.
func identifying(x *querying.Result) []string {
	var out []string
	for _, a := range x.Type.Attrs {
		if a.Type != cty.String || !a.Computed || a.Optional && a.Name != "id" || a.Sensitive || a.WriteOnly {
			continue
		}
		if v := x.Block.Value.GetAttr(a.Name); v.IsNull() || !v.IsKnown() || !identifies(v.AsString()) {
			continue
		}
		if a.Name == "id" {
			out = append([]string{"id"}, out...)
		} else {
			out = append(out, a.Name)
		}
	}
	return out
}

// of returns a function for the references of one object. For a text that identifies another object, the function
// returns a reference to that object. It returns "" for other texts, and if the reference would close a cycle.
func (r *referring) of(x *querying.Result) func(string) string {
	from := x.Type.Name + "." + x.Block.Name
	return func(text string) string {
		to, ok := r.to[text]
		// Only a reference from an object to which others refer already can close a cycle. This is rare, so the search
		// of reaches rarely runs.
		if !ok || to.object == from || r.named[from] && r.reaches(to.object, from, map[string]bool{}) {
			return ""
		}
		r.edges[from] = append(r.edges[from], to.object)
		r.named[to.object] = true
		return to.object + "." + to.attr
	}
}

func (r *referring) reaches(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	for _, next := range r.edges[from] {
		if r.reaches(next, to, seen) {
			return true
		}
	}
	return false
}
