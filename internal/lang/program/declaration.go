package program

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Decl is the index of a declaration in its Program. The declarations of the whole tree of modules are numbered from 0.
type Decl uint32

// Kind tells which kind of block, or which part of a module call, a declaration is.
type Kind uint8

// The kinds of declarations.
const (
	Variable Kind = iota
	Local
	Output
	Call           // a module call, without its contents: its count, for_each or enabled
	ModuleContents // everything inside a module call: the target of depends_on = [module.x]
	Resource       // a resource of any mode: managed, data, ephemeral or list
	Provider       // a provider configuration, which may be implied
	Check
	Action // an action block
)

func (k Kind) String() string {
	return [...]string{"variable", "local", "output", "call", "whole", "resource", "provider", "check", "action"}[k]
}

// Declaration is a named block or argument of one module in the tree of modules.
type Declaration struct {
	ID       Decl
	Kind     Kind
	Module   addr.Module // the module that contains the declaration; for Call and ModuleContents, the module that contains the call
	Name     string      // the name of a variable, local, output, module call or check
	Resource addr.Resource
	Provider addr.ProviderConfig // the address of a provider configuration; set only for the kind Provider
	Range    diag.Range

	// At most one of these fields is set, depending on Kind.
	Var  *config.Variable
	Out  *config.Output
	Mod  *config.Call
	Res  *config.Resource
	Prov *config.Provider
}

// CheckBlock returns the address of the check block that contains the resource d, such as check.health. d must be in a
// check block.
func (d *Declaration) CheckBlock() string {
	return (&Declaration{Kind: Check, Module: d.Module, Name: d.Res.Check}).String()
}

// String returns the address of the declaration as users write it, with the address of its module before it.
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
	ByValue  Use = 1 << iota // in the body of a block, or in the expression of a local value or an output
	ByRepeat                 // in the count, for_each or enabled of the referring block
	// ByDepends means that the name is in a depends_on argument. References without a name in the configuration also have
	// this use: from a check block to the data sources inside it, and from the ModuleContents of a module call to the
	// call and to the declarations of the called module.
	ByDepends
	ByModule    // the declaration is in a called module, and To is the call of that module, whose repetition and depends_on affect the declaration
	ByProvider  // the declaration uses the provider configuration To, or To is in the key with which a provider argument selects an instance
	ByCondition // in conditions and their messages
	ByTrigger   // in replace_triggered_by
	ByLifecycle // in other arguments of lifecycle blocks, and in the same arguments of module calls
	ByProvision // in provisioners and connections
	ByImport    // in import blocks
	ByFunction  // by a call of a function that a configured provider has
	ByAction    // in action_trigger blocks, and in the actions that they invoke
	ByNull      // inside ephemeralasnull, which uses the type of the target, and not its value
)

// KeyHint tells which instances of its target a reference selects.
type KeyHint uint8

// The kinds of KeyHint.
const (
	AllKeys KeyHint = iota // all instances, or instances that only the evaluation determines
	Same                   // the instance that has the same key as the referring instance: [count.index] or [each.key]
	Fixed                  // the instance whose key is in Ref.Fixed
	Single                 // the only instance, because the target is not repeated
)

// Ref is a reference from a declaration to the declaration To.
type Ref struct {
	To    Decl
	Use   Use
	Key   KeyHint
	Fixed addr.Key
	Range diag.Range // the range of the first occurrence of the reference
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

// Move is a moved block of one module in the tree. It applies to every instance of that module.
type Move struct {
	From, To addr.Target
	In       addr.Module
	Range    diag.Range
}

// Whole reports whether the move concerns a resource or a module call with all its instances. It returns false if From
// or To ends with a key: the move then concerns one instance.
func (m *Move) Whole() bool { return !m.From.KeyedItself() && !m.To.KeyedItself() }

// MovedStill returns the error for a moved block b whose source is still declared. The error is at the moved block. The
// parameter at is the range of the declaration of the source, what is the kind of the source ("resource" or "module"),
// and from is its address.
func MovedStill(b *Move, what, from string, at diag.Range) diag.Diagnostic {
	return diag.Errorf("Moved object still exists", "The moved block moves %s to %s, but that %s is still declared. Rename or remove the declaration, or remove the moved block.", from, b.To, what).At(b.Range).See("declared here", at)
}
