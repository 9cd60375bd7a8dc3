package funcs

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// builtins are all functions by name. The function type is for the console only.
var builtins = register(
	numbers, texts, patterns, formats, sequences, mappings, sets, selections, casts, tryCan, markings,
	encodings, documents, files, fileSets, templates, hashes, dates, networks, removed)

func register(groups ...[]*builtin) map[string]*builtin {
	all := map[string]*builtin{}
	for _, g := range groups {
		for _, b := range g {
			all[b.name] = b
		}
	}
	return all
}

// Table makes the functions for an Env, by plain name and by core:: name. The table may be used by
// any number of evaluations at once and is not to be changed.
func Table(env *Env) map[string]function.Function {
	s := &scope{env: env, limits: env.Limits.Filled(), own: templates}
	if s.limits == (limits.Limits{}).Filled() {
		s.table = maps.Clone(pure())
	} else {
		s.table = make(map[string]function.Function, 2*len(builtins)+2)
		s.addAll(true)
	}
	s.addAll(false)
	if env.Console {
		of := shapeOf(typeOf)
		s.add(of, &of.spec)
	}
	return s.table
}

// pure are the functions that see nothing of an Env, within the usual limits: each walk makes a table, and a test may
// have thousands of walks.
var pure = sync.OnceValue(func() map[string]function.Function {
	s := &scope{env: &Env{}, limits: limits.Limits{}.Filled(), table: make(map[string]function.Function, 2*len(builtins)+2), own: templates}
	s.addAll(true)
	return s.table
})

// addAll adds the functions that are pure, or those that are not.
func (s *scope) addAll(pure bool) {
	all := shapes()
	specs := make([]function.Spec, len(all))
	for i, of := range all {
		if of.builtin.pure() == pure {
			specs[i] = of.spec
			s.add(of, &specs[i])
		}
	}
}

func (s *scope) add(of shape, spec *function.Spec) {
	f := of.function(s, spec)
	s.table[of.name] = f
	s.table[of.core] = f
}

// shapes are those of all functions.
var shapes = sync.OnceValue(func() []shape {
	all := make([]shape, 0, len(builtins))
	for _, b := range builtins {
		all = append(all, shapeOf(b))
	}
	return all
})

// Names are the plain names of all functions, sorted; type, which only the console has, is not among
// them, and neither are list and map, which only say that they are gone.
func Names() []string {
	names := make([]string, 0, len(builtins))
	for name, b := range builtins {
		if b.name != "list" && b.name != "map" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Meant says which function was meant by a name that none has, "" if none is like it.
func Meant(name string) string { return meant(name, Names()) }

// Pure reports whether the result of a function depends on its arguments alone: on no file or directory, no
// time, no chance, nothing that a walk is for, and no other function that does. name may begin with core::.
// There is nothing to be said of an unknown name.
func Pure(name string) bool {
	b := builtins[strings.TrimPrefix(name, "core::")]
	return b != nil && b.pure()
}

func (b *builtin) pure() bool { return !b.impure && !b.observed && !b.world }

// Fleeting reports whether a function gives another result in each run, for the same arguments and files. name may
// begin with core::.
func Fleeting(name string) bool {
	name = strings.TrimPrefix(name, "core::")
	b := builtins[name]
	return b != nil && (b.impure || name == "plantimestamp")
}

// Signature is the shape of a function, as `metadata functions -json` shows it. The functions of a
// Table do not have it: their parameters are capsules.
type Signature struct {
	Doc      string // what the function is for
	Params   []Param
	Variadic *Param   // nil: no further arguments
	Returns  cty.Type // cty.DynamicPseudoType where it depends on the arguments
}

// Param is a parameter of a function.
type Param struct {
	Name     string
	Type     cty.Type // cty.DynamicPseudoType: any type, or an expression
	Nullable bool
	Doc      string
}

// SignatureOf gives the shape of a function; false if there is none of that name.
func SignatureOf(name string) (Signature, bool) {
	b := find(name)
	if b == nil {
		return Signature{}, false
	}
	s := Signature{Doc: b.doc, Returns: b.returns}
	for i := range b.params {
		s.Params = append(s.Params, b.params[i].public())
	}
	if b.rest != nil {
		p := b.rest.public()
		s.Variadic = &p
	}
	return s, true
}

func (p *param) public() Param {
	ty := p.typ
	switch {
	case p.shown != cty.NilType:
		ty = p.shown
	case ty.IsCapsuleType(): // an expression or a type
		ty = cty.DynamicPseudoType
	}
	return Param{Name: p.name, Type: ty, Nullable: p.may(null), Doc: p.doc}
}

func find(name string) *builtin {
	if name == typeOf.name {
		return typeOf
	}
	return builtins[name]
}

// removed are functions of old that are here to say what to write instead.
var removed = []*builtin{
	removedFor("list", "[ ... ], or tolist([ ... ]) for elements of one type"),
	removedFor("map", "{ ... }, or tomap({ ... }) for elements of one type"),
}

func removedFor(name, instead string) *builtin {
	err := errors.New("there is no function \"" + name + "\" any more; write " + instead)
	return &builtin{
		name: name, doc: "No longer available: use " + instead + ".",
		rest:    &param{name: "vals", typ: cty.DynamicPseudoType, doc: "Ignored.", mode: anything},
		returns: cty.DynamicPseudoType, whole: true,
		run: func(*call) (cty.Value, error) { return cty.NilVal, err },
	}
}
