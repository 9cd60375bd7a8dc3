package program

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Decl is the index of a declaration in its Program: dense, over the whole module tree.
type Decl uint32

// Kind says what a declaration declares.
type Kind uint8

// The kinds.
const (
	Variable Kind = iota
	Local
	Output
	Call           // a module call: its repetition
	ModuleContents // everything inside a module call: what depends_on = [module.x] means
	Resource       // of any mode
	Provider       // a provider configuration
	Check
)

func (k Kind) String() string {
	return [...]string{"variable", "local", "output", "call", "whole", "resource", "provider", "check"}[k]
}

// Declaration is one named thing in one module of the tree.
type Declaration struct {
	ID       Decl
	Kind     Kind
	Module   addr.Module // where it stands; of Call and ModuleContents: the module that holds the call
	Name     string      // of a variable, local, output, call or check
	Resource addr.Resource
	Provider addr.ProviderConfig // also of implied ones: empty default configurations of the root
	Range    diag.Range

	// At most one of these is set, by Kind.
	Var  *config.Variable
	Out  *config.Output
	Mod  *config.Call
	Res  *config.Resource
	Prov *config.Provider
}

// CheckBlock names the check block that a resource stands in, as users write it.
func (d *Declaration) CheckBlock() string {
	return (&Declaration{Kind: Check, Module: d.Module, Name: d.Res.Check}).String()
}

// String is the address as users write it, with its module before it.
func (d *Declaration) String() string {
	switch d.Kind {
	case Resource:
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

// Use is a set of reasons why a reference is there.
type Use uint16

// The reasons.
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
	ByNull                      // inside ephemeralasnull: its type, not its value
)

// KeyHint says which instances of its target a reference means.
type KeyHint uint8

// The hints.
const (
	AllKeys KeyHint = iota // all instances, or it is not known which
	Same                   // the one with the referrer's own key: [count.index], [each.key]
	Fixed                  // the one with the key in Ref.Fixed
	Single                 // the target is not repeated
)

// Ref is a reference from one declaration to another.
type Ref struct {
	To    Decl
	Use   Use
	Key   KeyHint
	Fixed addr.Key
	Range diag.Range // where the first of them stands
}

// RepeatKind says what makes instances.
type RepeatKind uint8

// The kinds of repetition.
const (
	Once    RepeatKind = iota // one instance without a key
	Count                     // [0], [1], …
	ForEach                   // ["a"], …
	Enabled                   // none, or one without a key
)

// RepeatOf says what makes the instances of a resource, from its declaration alone.
func RepeatOf(r *config.Resource) RepeatKind { return RepeatKindOf(r.Repeat) }

// Repeat says what makes the instances of a resource, a module call or a provider configuration.
func (d *Declaration) Repeat() RepeatKind {
	switch {
	case d.Kind == Resource:
		return RepeatKindOf(d.Res.Repeat)
	case d.Kind == Call:
		return RepeatKindOf(d.Mod.Repeat)
	case d.Kind == Provider && d.Prov != nil && d.Prov.ForEach != nil:
		return ForEach
	}
	return Once
}

// RepeatKindOf says what makes instances, from the arguments that do.
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

// Move is a moved block where it stands: what happens in every instance of that module.
type Move struct {
	From, To addr.Target
	In       addr.Module
	Range    diag.Range
}

// Whole reports whether it is about a resource or a module call with all its instances. Where one
// end has a key, each is about one instance.
func (m *Move) Whole() bool { return !m.From.KeyedItself() && !m.To.KeyedItself() }

// MovedStill is the error about a move of what is declared where it was.
func MovedStill(b *Move, what, from string, at diag.Range) diag.Diagnostic {
	return diag.Errorf("Moved object still exists", "This block says that %s moved to %s, but that %s is still declared. Declare it under its new name only, or remove the moved block.", from, b.To, what).At(b.Range).See("declared here", at)
}
