package program

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Decl is the index of a declaration in its Program. The indexes of all declarations of the module tree are consecutive
// numbers from 0.
type Decl uint32

// Kind is the kind of a declaration.
type Kind uint8

// The kinds of declarations.
const (
	Variable Kind = iota
	Local
	Output
	Call           // a module call: only its count, for_each or enabled
	ModuleContents // everything inside a module call: the target of depends_on = [module.x]
	Resource       // a resource of any mode
	Provider       // a provider configuration
	Check
	Action // an action block
)

func (k Kind) String() string {
	return [...]string{"variable", "local", "output", "call", "whole", "resource", "provider", "check", "action"}[k]
}

// Declaration is a named block or argument in one module of the tree.
type Declaration struct {
	ID       Decl
	Kind     Kind
	Module   addr.Module // the module that contains it; of Call and ModuleContents: the module that contains the call
	Name     string      // the name of a variable, local, output, call or check
	Resource addr.Resource
	Provider addr.ProviderConfig // the address of a provider configuration, which may be implied
	Range    diag.Range

	// At most one of these fields is set, depending on Kind.
	Var  *config.Variable
	Out  *config.Output
	Mod  *config.Call
	Res  *config.Resource
	Prov *config.Provider
}

// CheckBlock returns the address of the check block that contains d, such as check.health. d must be a resource in a
// check block.
func (d *Declaration) CheckBlock() string {
	return (&Declaration{Kind: Check, Module: d.Module, Name: d.Res.Check}).String()
}

// String returns the address as users write it, preceded by its module.
func (d *Declaration) String() string {
	switch d.Kind {
	case Resource, Action:
		return d.Resource.String()
	case Provider:
		return d.Provider.String()
	}
	local := map[Kind]string{Variable: "var.", Local: "local.", Output: "output.", Call: "module.", ModuleContents: "module.", Check: "check."}[d.Kind] + d.Name
	if d.Module.IsRoot() {
		return local
	}
	return d.Module.String() + "." + local
}

// Use is a set of reasons for a reference.
type Use uint16

// The reasons for a reference.
const (
	ByValue     Use = 1 << iota // the body of a block, or the expression of a local value or an output
	ByRepeat                    // the count, for_each or enabled of the referring block
	ByDepends                   // the depends_on of the referring block
	ByModule                    // the repetition and depends_on of the module call around the declaration
	ByProvider                  // the use of a provider configuration
	ByCondition                 // conditions and their messages
	ByTrigger                   // replace_triggered_by
	ByLifecycle                 // other expressions in lifecycle blocks
	ByProvision                 // provisioners and connections
	ByImport                    // import blocks
	ByFunction                  // functions of a configured provider
	ByAction                    // action_trigger blocks, and the actions that they invoke
	ByNull                      // inside ephemeralasnull, which uses the type of the target, but not its value
)

// KeyHint specifies which instances of its target a reference selects.
type KeyHint uint8

// The kinds of KeyHint.
const (
	AllKeys KeyHint = iota // all instances, or instances that only evaluation can determine
	Same                   // the instance with the same key as the referrer: [count.index], [each.key]
	Fixed                  // the instance with the key in Ref.Fixed
	Single                 // the target is not repeated
)

// Ref is a reference from a declaration to the declaration To.
type Ref struct {
	To    Decl
	Use   Use
	Key   KeyHint
	Fixed addr.Key
	Range diag.Range // the first place of the reference
}

// RepeatKind is the way in which a block creates its instances.
type RepeatKind uint8

// The kinds of repetition.
const (
	Once    RepeatKind = iota // one instance without a key
	Count                     // [0], [1], …
	ForEach                   // ["a"], …
	Enabled                   // no instance, or a single instance without a key
)

// RepeatOf returns the kind of repetition of a resource.
func RepeatOf(r *config.Resource) RepeatKind { return RepeatKindOf(r.Repeat) }

// Repeat returns the kind of repetition of a resource, an action, a module call or a provider configuration. It returns
// Once for all other declarations.
func (d *Declaration) Repeat() RepeatKind {
	switch {
	case d.Kind == Resource || d.Kind == Action:
		return RepeatKindOf(d.Res.Repeat)
	case d.Kind == Call:
		return RepeatKindOf(d.Mod.Repeat)
	case d.Kind == Provider && d.Prov != nil && d.Prov.ForEach != nil:
		return ForEach
	}
	return Once
}

// RepeatKindOf returns the kind of repetition that the arguments in r define.
func RepeatKindOf(r config.Repeat) RepeatKind {
	switch {
	case r.Count != nil:
		return Count
	case r.ForEach != nil:
		return ForEach
	case r.Enabled != nil:
		return Enabled
	}
	return Once
}

// Move is a moved block of one module of the tree. It applies to every instance of that module.
type Move struct {
	From, To addr.Target
	In       addr.Module
	Range    diag.Range
}

// Whole reports whether the move is about a resource or a module call with all its instances. It returns false if From
// or To ends in a key: the move is then about one instance.
func (m *Move) Whole() bool { return !m.From.KeyedItself() && !m.To.KeyedItself() }

// MovedStill returns the error for a moved block whose source is still declared at the place at. what is the kind of
// the source, and from its address.
func MovedStill(b *Move, what, from string, at diag.Range) diag.Diagnostic {
	return diag.Errorf("Moved object still exists", "The moved block moves %s to %s, but that %s is still declared. Rename or remove the declaration, or remove the moved block.", from, b.To, what).At(b.Range).See("declared here", at)
}
