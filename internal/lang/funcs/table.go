package funcs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// builtins are all functions by name. The function type is for the console only.
var builtins = register(
	numbers, texts, patterns, formats, sequences, mappings, sets, selections, casts, tryCan, markings,
	encodings, documents, files, templates, hashes, dates, networks, removed)

func register(groups ...[]*builtin) map[string]*builtin {
	all := map[string]*builtin{}
	for _, g := range groups {
		for _, b := range g {
			all[b.name] = b
		}
	}
	return all
}

// fixed is a function with a result of one type, which is not null.
func fixed(name, doc string, returns cty.Type, run func(*call) (cty.Value, error), params ...param) *builtin {
	return &builtin{name: name, doc: doc, params: params, returns: returns, run: run}
}

// varying is a function whose result has the type that kind gives for its arguments.
func varying(name, doc string, kind func(*call) (cty.Type, error), run func(*call) (cty.Value, error), params ...param) *builtin {
	return &builtin{name: name, doc: doc, params: params, returns: cty.DynamicPseudoType, kind: kind, run: run}
}

func text(name, doc string) param   { return param{name: name, typ: cty.String, doc: doc} }
func number(name, doc string) param { return param{name: name, typ: cty.Number, doc: doc} }

// Table makes the functions for an Env, by plain name and by core:: name. The table may be used by
// any number of evaluations at once and is not to be changed.
func Table(env *Env) map[string]function.Function {
	s := &scope{env: env, limits: env.Limits.Filled(), table: make(map[string]function.Function, 2*len(builtins)+2), own: templates}
	for name, b := range builtins {
		s.add(name, b)
	}
	if env.Console {
		s.add(typeOf.name, typeOf)
	}
	return s.table
}

func (s *scope) add(name string, b *builtin) {
	f := b.function(s)
	s.table[name] = f
	s.table["core::"+name] = f
}

// function is b as package cty wants it. Its parameters are capsules and its type is only known with
// its result: see arg.go. Signatures has the types to show.
func (b *builtin) function(s *scope) function.Function {
	spec := &function.Spec{
		Description: b.doc,
		Type:        function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return b.invoke(s, args)
		},
	}
	for i := range b.params {
		spec.Params = append(spec.Params, b.params[i].parameter())
	}
	if b.rest != nil {
		p := b.rest.parameter()
		spec.VarParam = &p
	}
	return function.New(spec)
}

func (p *param) parameter() function.Parameter {
	ty := argType
	if p.typ.IsCapsuleType() {
		ty = p.typ
	}
	// A capsule has no marks and is always known. Said here, cty need not look for that in each call.
	return function.Parameter{Name: p.name, Description: p.doc, Type: ty, AllowMarked: true, AllowUnknown: true}
}

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

// elsewhere are the functions that have another name in other languages.
var elsewhere = map[string]string{
	"len": "length", "size": "length", "count": "length", "strlen": "length", "str": "tostring", "string": "tostring", "int": "tonumber", "number": "tonumber",
	"float": "tonumber", "bool": "tobool", "array": "tolist", "dict": "tomap", "object": "tomap", "tolower": "lower", "lowercase": "lower", "downcase": "lower",
	"toupper": "upper", "uppercase": "upper", "upcase": "upper", "capitalize": "title", "substring": "substr", "sprintf": "format", "printf": "format", "append": "concat", "concatenate": "concat",
	"push": "concat", "unique": "distinct", "uniq": "distinct", "includes": "contains", "has": "contains", "in": "contains", "get": "lookup", "now": "timestamp",
	"nvl": "coalesce", "ifnull": "coalesce", "default": "coalesce", "truncate": "floor", "glob": "fileset", "readfile": "file", "sqrt": "pow",
}

// Meant says which function was meant by a name that none has, "" if none is like it.
func Meant(name string) string { return meant(name, Names()) }

func meant(name string, functions []string) string {
	if name == "if" {
		return " A choice is written as CONDITION ? VALUE : OTHER."
	}
	guess := strings.ReplaceAll(strings.ToLower(name), "_", "")
	if !slices.Contains(functions, guess) {
		guess = cmp.Or(elsewhere[guess], diag.Suggest(name, functions))
	}
	if guess == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", guess)
}

// Pure reports whether the result of a function depends on its arguments alone: on no file or directory, no
// time, no chance, nothing that a walk is for, and no other function that does. name may begin with core::.
// There is nothing to be said of an unknown name.
func Pure(name string) bool {
	b := builtins[strings.TrimPrefix(name, "core::")]
	return b != nil && !b.impure && !b.observed && !b.world
}

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
