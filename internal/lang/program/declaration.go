package program

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Decl is the index of a declaration in its Program. Indexes are dense and cover the whole module tree.
type Decl uint32

// Kind is the kind of a declaration.
type Kind uint8

// The kinds of declarations.
const (
	Variable Kind = iota
	Local
	Output
	Call           // a module call: only its repetition
	ModuleContents // everything inside a module call: the target of depends_on = [module.x]
	Resource       // of any mode
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
	Name     string      // of a variable, local, output, call or check
	Resource addr.Resource
	Provider addr.ProviderConfig // also of implied empty default configurations of the root
	Range    diag.Range

	// At most one of these fields is set, depending on Kind.
	Var  *config.Variable
	Out  *config.Output
	Mod  *config.Call
	Res  *config.Resource
	Prov *config.Provider
}

// CheckBlock returns the address of the check block that contains a resource, such as check.health.
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
	ByValue     Use = 1 << iota // body or expression
	ByRepeat                    // own count, for_each, enabled
	ByDepends                   // own depends_on
	ByModule                    // the enclosing call: its repetition and depends_on
	ByProvider                  // the provider configuration used
	ByCondition                 // conditions and their messages
	ByTrigger                   // replace_triggered_by
	ByLifecycle                 // other lifecycle expressions
	ByProvision                 // provisioners and connections
	ByImport                    // import blocks
	ByFunction                  // functions of a configured provider
	ByAction                    // action_trigger blocks, and the actions in them
	ByNull                      // inside ephemeralasnull: its type, not its value
)

// KeyHint specifies which instances of its target a reference selects.
type KeyHint uint8

// The kinds of KeyHint.
const (
	AllKeys KeyHint = iota // all instances, or unknown ones
	Same                   // the instance with the referrer's own key: [count.index], [each.key]
	Fixed                  // the instance with the key in Ref.Fixed
	Single                 // the target is not repeated
)

// Ref is a reference from one declaration to another.
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

// Repeat returns the kind of repetition of a resource, an action, a module call or a provider configuration. It returns Once for
// all other declarations.
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

// Whole reports whether the move is about a resource or a module call with all its instances. If From or To ends in a
// key, the move is about one instance.
func (m *Move) Whole() bool { return !m.From.KeyedItself() && !m.To.KeyedItself() }

// MovedStill returns the error for a moved block whose source is still declared.
func MovedStill(b *Move, what, from string, at diag.Range) diag.Diagnostic {
	return diag.Errorf("Moved object still exists", "The moved block moves %s to %s, but that %s is still declared. Rename or remove the declaration, or remove the moved block.", from, b.To, what).At(b.Range).See("declared here", at)
}
