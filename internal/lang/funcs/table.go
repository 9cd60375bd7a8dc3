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

// builtins has all functions by name, except the function type, which exists only in the console.
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

// Table returns the functions for an Env, each by its plain name and by its name with "core::". Several evaluations may
// use the table at the same time. The caller must not change the table.
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

// pure returns the functions that do not read an Env, with the default limits. They are made only once, because each
// walk (plan, apply or validation) makes a table, and a test run may have thousands of walks.
var pure = sync.OnceValue(func() map[string]function.Function {
	s := &scope{env: &Env{}, limits: limits.Limits{}.Filled(), table: make(map[string]function.Function, 2*len(builtins)+2), own: templates}
	s.addAll(true)
	return s.table
})

// addAll adds the pure functions to the table if pure is true, and otherwise all functions that are not pure.
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

// shapes returns the descriptions of all functions for package cty.
var shapes = sync.OnceValue(func() []shape {
	all := make([]shape, 0, len(builtins))
	for _, b := range builtins {
		all = append(all, shapeOf(b))
	}
	return all
})

// Names returns the plain names of all functions, sorted. It omits type, which only the console has, and list and map,
// which only return an error.
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

// Meant returns a sentence that suggests a function for an unknown name, or "" if no function has a similar name.
func Meant(name string) string { return meant(name, Names()) }

// Pure reports whether the result of a function depends only on its arguments. The result of any other function also
// depends on a file or directory, the time, a random number, whether it is called during plan or apply, or the
// functions that it calls. name may begin with "core::". Pure returns false for an unknown name.
func Pure(name string) bool {
	b := builtins[strings.TrimPrefix(name, "core::")]
	return b != nil && b.pure()
}

func (b *builtin) pure() bool { return !b.impure && !b.observed && !b.world }

// Impure reports whether the result of a function differs between runs although the arguments and files are the same:
// bcrypt, plantimestamp, timestamp and uuid. name may begin with "core::".
func Impure(name string) bool {
	name = strings.TrimPrefix(name, "core::")
	b := builtins[name]
	return b != nil && (b.impure || name == "plantimestamp")
}

// Signature describes a function in the form in which `metadata functions -json` prints it. It has the types for users,
// which the functions of a Table, with capsules as parameters, do not have.
type Signature struct {
	Doc      string // the purpose of the function
	Params   []Param
	Variadic *Param   // the parameter for all further arguments; nil if the number of arguments is fixed
	Returns  cty.Type // cty.DynamicPseudoType if the type depends on the arguments
}

// Param describes a parameter of a function.
type Param struct {
	Name     string
	Type     cty.Type // cty.DynamicPseudoType for any type, and for a parameter that takes an expression
	Nullable bool
	Doc      string
}

// SignatureOf returns the signature of a function, including the function type of the console. name must not begin with
// "core::". SignatureOf returns false if no function has the name.
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
	case ty.IsCapsuleType(): // the parameter takes an expression or a type constraint
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

// removed has functions of old versions of the language. A call returns an error that names the replacement.
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
