package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// loader reads one module.
type loader struct {
	rd       *reader
	mod      *Module
	required *requirements
	declared map[string]hcl.Range // ranges of the declarations so far, by kind and name; see the method first
}

// newLoader returns a loader whose module has no declarations yet.
func newLoader(rd *reader, dir string) *loader {
	mod := newModule(dir)
	return &loader{rd: rd, mod: mod, required: newRequirements(rd, mod), declared: map[string]hcl.Range{}}
}

func newModule(dir string) *Module {
	return &Module{
		Dir:       dir,
		Required:  map[string]*Requirement{},
		Meta:      map[string]*Meta{},
		Variables: map[string]*Variable{},
		Locals:    map[string]*Local{},
		Outputs:   map[string]*Output{},
		Calls:     map[string]*Call{},
		Providers: map[ProviderName]*Provider{},
		Resources: map[Name]*Resource{},
		Actions:   map[Name]*Resource{},
		Checks:    map[string]*Check{},
	}
}

// first records a declaration by its kind and its name. If a declaration with the same kind and name was recorded
// before, first reports an error and returns false. The elements of called are the name. They are also the first
// arguments of format, and the range of the earlier declaration is the last.
func (l *loader) first(kind string, at hcl.Range, title, format string, called ...any) bool {
	key := fmt.Sprintf("%s %q", kind, called)
	before, again := l.declared[key]
	if again {
		l.rd.again(at, before, title, format, append(called, before)...)
		return false
	}
	l.declared[key] = at
	return true
}

const badName = "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes."

// name reports whether label i of a block is a valid name. If not, it reports an error, and marks the module as
// unreadable: a declaration may be missing from it.
func (l *loader) name(b *hcl.Block, i int, title string) bool {
	if ValidName(b.Labels[i]) {
		return true
	}
	l.mod.unreadable = true
	l.rd.error(b.LabelRanges[i], title, "%s", badName)
	return false
}
