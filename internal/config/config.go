// Package config parses configuration files into declarations. It does not evaluate expressions.
//
// A Module is the merged content of the files in one directory. A Tree is the root module with all modules that it
// calls, directly or indirectly. Expressions remain syntax trees, which package lang evaluates. This package reads only
// the arguments that the language requires to be constant. Every declaration records its source range.
//
// The loader accepts all files that Terraform or OpenTofu accepts, and Lethe's own files: native and JSON syntax, .tf,
// .tofu and .lethe, override files. It collects all mistakes in a diag.Bag and returns the declarations that it could
// read. It works in this order:
//
//   - Package syntax checks each text before the parser reads it, because the parser does not refuse texts that take
//     too much time or memory.
//   - The version constraints of a module are checked before other mistakes of the module are reported (version.go).
//   - Override files are merged into the blocks that they change (overrides.go, merge.go).
//   - Each block is read by the file with the name of the block type.
//
// In native syntax the body of a declaration is an *hclsyntax.Body without the arguments and blocks that this package
// has read. If JSON is involved (IsJSON), the body has another type, and only a schema can distinguish its arguments
// from its blocks. Package native converts expressions of both syntaxes to the same syntax tree.
//
// Package lang makes the checks that depend on values, on the schema of a provider, or on the provider configurations
// that modules receive.
//
// The package also reads files of variable values (values.go). Package lockfile reads and writes dependency lock files,
// and package style writes configuration.
//
// The files form layers. Each layer uses only the layers below it:
//
//	loadtree.go, load.go        a tree, a module
//	overrides.go, settings.go   blocks before they are read
//	output.go, resource.go …    a file for each block
//	loader.go, required.go      the declarations of a module, its requirements
//	condition.go, refs.go …     parts of blocks
//	reader.go                   the reader that all of these use
//	merge.go                    merged bodies
//	files.go, options.go        texts, and the sources that they are read from
//	config.go                   the declarations, and the tree
package config

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Refactorings are the blocks of a module about objects that change their address or their owner.
type Refactorings struct {
	Moved   []*Moved
	Removed []*Removed
	Imports []*Import
}

// Module is the merged content of one directory of configuration files.
type Module struct {
	Dir     string // the directory as passed to Load; the names in ranges begin with it, unless Options.Display changes them
	Files   []File // all files that were read, in order
	Version []VersionConstraint

	Required map[string]*Requirement // requirements of providers by local name: explicit ones, and ones implied by use
	Storage
	Meta map[string]*Meta // provider_meta by local name

	Variables map[string]*Variable
	Locals    map[string]*Local
	Outputs   map[string]*Output
	Calls     map[string]*Call
	Providers map[ProviderName]*Provider
	Resources map[Name]*Resource // the resources of all modes except actions
	Actions   map[Name]*Resource // action blocks
	Checks    map[string]*Check

	Refactorings

	// ComputedLifecycles is true if a lifecycle block has arguments that are evaluated before the plan.
	ComputedLifecycles bool

	VersionMismatch bool        // the module requires another version of Lethe or Terraform, so its other declarations were not read
	unreadable      bool        // a part of the module could not be read, so declarations may be missing
	broken          diag.Places // the places of blocks in which mistakes were found
}

// Storage has the blocks of a module that decide where and how states are stored.
type Storage struct {
	Backend    *Backend
	Cloud      *Backend   // type "cloud"
	Overridden []*Backend // backend and cloud blocks that override files replaced
	Encryption hcl.Body   // terraform { encryption {} }, nil if absent
}

// Stored returns the cloud block if the module has one, and otherwise the backend block. It returns nil if the module
// has neither.
func (s *Storage) Stored() *Backend {
	if s.Cloud != nil {
		return s.Cloud
	}
	return s.Backend
}

// Unreadable reports whether the module may contain declarations that were not read: a file could not be parsed, or the
// name or the header of a block is wrong. In this case, references to missing declarations are not reported, because
// the declarations may be in the unread text.
func (m *Module) Unreadable() bool { return m.unreadable }

// Broken reports whether a mistake was found in the block at a range. Some arguments of such a block may be missing.
func (m *Module) Broken(at hcl.Range) bool { return m.broken.Has(at) }

// File is the name and the text of a configuration file.
type File struct {
	Name  string // the path, in the form of ranges
	Bytes []byte
}

// Name is the mode, the type and the name of a resource or an action inside its module.
type Name struct {
	Mode       addr.Mode
	Type, Name string
}

// In returns the address of the resource in the module at path m.
func (n Name) In(m addr.Module) addr.Resource {
	return addr.Resource{Module: m, Mode: n.Mode, Type: n.Type, Name: n.Name}
}

// ProviderName names a provider configuration inside its module.
type ProviderName struct {
	Local string
	Alias string // "" is the default configuration
}

// String returns the name as references spell it, such as "aws" or "aws.west".
func (n ProviderName) String() string {
	if n.Alias == "" {
		return n.Local
	}
	return n.Local + "." + n.Alias
}

// VersionConstraint is a required_version, or a compatible_with entry.
type VersionConstraint struct {
	Text     string
	Range    diag.Range
	Required bool // true: an entry of required_version; false: of compatible_with
}

// Requirement is an entry of required_providers, or a requirement that the use of a local name implies.
type Requirement struct {
	Local     string
	Source    addr.Provider
	HostGiven bool // the source contains a host name
	Versions  []VersionConstraint
	Aliases   []ProviderName // configuration_aliases
	Range     diag.Range     // zero for a requirement that the use of a local name implies
	Uncertain bool           // implied by use, but the module has an unreadable part, which may have an explicit entry
}

// Backend is a backend, cloud or state_store block.
type Backend struct {
	Type  string
	Store bool // a state_store block, whose Type is a type of a provider
	Body  hcl.Body
	Range diag.Range
}

// Meta is a provider_meta block. As in Terraform and OpenTofu, its body contains only constants. So the metadata that a
// module sends to a provider does not depend on the caller, and contains no secrets.
type Meta struct {
	Body  hcl.Body // in native syntax; its expressions are constants
	Range diag.Range
}

// Variable is a variable block.
type Variable struct {
	Name         string
	Description  string
	Type         cty.Type  // constraint, with optional attributes; DynamicPseudoType allows any type
	Defaults     *Defaults // defaults of optional attributes; nil if none has a default
	TypeGiven    bool
	Default      cty.Value // converted to Type; NilVal if absent
	DefaultRange diag.Range
	Nullable     bool
	Sensitive    bool
	Ephemeral    bool
	Const        bool   // const = true: callers may only pass values that are known before the plan
	Deprecated   string // the text of the warning for callers; "" if the variable is not deprecated
	Validations  []*Condition
	Range        diag.Range
}

// Defaults are the default values of optional attributes in a type constraint.
type Defaults = typeexpr.Defaults

// Local is one named expression of a locals block.
type Local struct {
	Expr  hcl.Expression
	Range diag.Range
}

// Output is an output block.
type Output struct {
	Name          string
	Description   string
	Expr          hcl.Expression // nil if the required argument is missing; the loader has reported that
	Type          cty.Type       // NilType if absent
	Defaults      *Defaults
	Sensitive     bool
	Ephemeral     bool
	Deprecated    string // the text of the warning for users; "" if the output is not deprecated
	DependsOn     []hcl.Traversal
	Preconditions []*Condition
	Range         diag.Range
}

// Condition is a validation, precondition, postcondition or assertion.
type Condition struct {
	Condition hcl.Expression
	Message   hcl.Expression
	Range     diag.Range
}

// Repeat holds the expression that determines the number of instances. At most one field is set (not nil).
type Repeat struct {
	Count   hcl.Expression
	ForEach hcl.Expression
	Enabled hcl.Expression // lifecycle { enabled }
}

// Call is a module block.
type Call struct {
	Name        string
	Source      hcl.Expression
	SourceRange diag.Range
	Versions    hcl.Expression // the version argument; nil if absent
	Body        hcl.Body       // the inputs of the module: all arguments except meta-arguments, and the content of `_ {}`
	Repeat
	DependsOn      []hcl.Traversal
	Providers      []Passed
	ProvidersGiven bool           // a providers argument exists, possibly empty
	PreventDestroy hcl.Expression // lifecycle { prevent_destroy }, for all resources of the module; nil if absent
	CreateFirst    hcl.Expression // lifecycle { create_before_destroy }, for all resources of the module; nil if absent
	// IgnoreNestedDeprecations suppresses warnings about deprecated features in the files of the module.
	IgnoreNestedDeprecations bool
	Range                    diag.Range
}

// Passed is one entry of a providers argument.
type Passed struct {
	Child  ProviderName // the name in the called module
	Parent ProviderRef  // the configuration of the calling module
	Range  diag.Range
}

// ProviderRef is a reference to a provider configuration. It has an instance key if the configuration uses for_each.
type ProviderRef struct {
	ProviderName
	Key   hcl.Expression // the instance key, such as "west" in aws.by_region["west"]; nil if the reference has no key
	Range diag.Range
}

// Provider is a provider block.
type Provider struct {
	ProviderName
	Versions []VersionConstraint // the deprecated version argument
	ForEach  hcl.Expression      // nil if absent
	Body     hcl.Body            // the settings of the provider
	Range    diag.Range
}

// Resource is a resource, data, ephemeral, list or action block.
type Resource struct {
	Name
	Repeat
	DependsOn    []hcl.Traversal
	Provider     *ProviderRef // nil: the default configuration of the provider that the prefix of the type names
	Body         hcl.Body     // the arguments and blocks of the provider's schema
	Lifecycle    Lifecycle
	Connection   *Connection // the connection block of the resource; nil if absent
	Provisioners []*Provisioner
	Check        string // the name of the check block that contains this block; "" for a block at the top level
	Range        diag.Range
	TypeRange    diag.Range
}

// Blocks iterates over the blocks of types that providers define, including actions, in no order.
func (m *Module) Blocks() iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		for _, all := range []map[Name]*Resource{m.Resources, m.Actions} {
			for _, r := range all {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// HasResourcesOf reports whether a resource or an action of the module uses the provider with a local name.
func (m *Module) HasResourcesOf(local string) bool {
	for r := range m.Blocks() {
		if r.LocalProvider().Local == local {
			return true
		}
	}
	return false
}

// LocalProvider returns the local name and the alias of the provider configuration that the block uses.
func (r *Resource) LocalProvider() ProviderName {
	if r.Provider != nil {
		return r.Provider.ProviderName
	}
	return ProviderName{Local: ImpliedProvider(r.Type)}
}

// Lifecycle is a lifecycle block. The mode of the resource determines which fields may be set.
type Lifecycle struct {
	CreateFirst    bool
	FirstIf        hcl.Expression // a create_before_destroy expression that is not constant; otherwise nil
	Protected      bool           // a module call above this module sets prevent_destroy
	PreventDestroy hcl.Expression // nil if absent
	Destroy        hcl.Expression // nil if absent; destroy = false keeps the remote object and removes it from the state
	IgnoreAll      bool
	Ignore         []hcl.Traversal  // the paths in ignore_changes, relative to the resource
	IgnoreIf       hcl.Expression   // an ignore_changes expression that is not a list of names; otherwise nil
	Triggers       []hcl.Expression // replace_triggered_by
	ActionTriggers []*ActionTrigger
	Preconditions  []*Condition
	Postconditions []*Condition
}

// IgnoredNames returns the first name of each path in ignore_changes: the arguments of the resource. For ignore_changes
// = all it returns nil.
func (l *Lifecycle) IgnoredNames() []string {
	var out []string
	for _, t := range l.Ignore {
		switch step := t[0].(type) {
		case hcl.TraverseRoot:
			out = append(out, step.Name)
		case hcl.TraverseAttr:
			out = append(out, step.Name)
		}
	}
	return out
}

// Connection is a connection block.
type Connection struct {
	Body hcl.Body
}

// Provisioner is a provisioner block.
type Provisioner struct {
	Type       string
	Destroy    bool // when = destroy
	Continue   bool // on_failure = continue
	Body       hcl.Body
	Connection *Connection // connection block inside the provisioner; nil: the connection of the resource
	Range      diag.Range
}

// Event is a moment in the life of an object at which actions are invoked.
type Event uint8

// The events, in the order in which they occur in a replacement that destroys first.
const (
	BeforeDestroy Event = iota + 1
	AfterDestroy
	BeforeCreate
	AfterCreate
	BeforeUpdate
	AfterUpdate
)

var eventNames = [...]string{"", "before_destroy", "after_destroy", "before_create", "after_create", "before_update", "after_update"}

func (e Event) String() string { return eventNames[e] }

// MarshalText returns the name of the event, which saved plans contain.
func (e Event) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText parses the name of an event. It returns an error for an unknown name.
func (e *Event) UnmarshalText(name []byte) error {
	i := slices.Index(eventNames[:], string(name))
	if i <= 0 {
		return fmt.Errorf("%q is not an event", name)
	}
	*e = Event(i)
	return nil
}

// Ends reports whether the event is before or after the destruction of an object.
func (e Event) Ends() bool { return e == BeforeDestroy || e == AfterDestroy }

// Precedes reports whether the event is before the change, such as before_create.
func (e Event) Precedes() bool { return e == BeforeDestroy || e == BeforeCreate || e == BeforeUpdate }

// The values of on_failure in an action_trigger block.
const (
	Halt     = "halt"     // stop the change of the object, and do not change its dependents; the default
	Taint    = "taint"    // like halt, and mark the created object as tainted, so that the next plan replaces it
	Continue = "continue" // the errors of the action become warnings
)

// ActionTrigger is an action_trigger block of a lifecycle block.
type ActionTrigger struct {
	Events    []Event
	Condition hcl.Expression // nil if absent
	Actions   []ActionRef
	OnFailure string // Halt, Taint or Continue
	Range     diag.Range
}

// ActionRef names an action, or one instance of it.
type ActionRef struct {
	Name
	Key   hcl.Expression // the instance key; nil if the reference has no key
	Range diag.Range
}

// Check is a check block. Its data and ephemeral blocks are in Module.Resources, with the name of the check block in
// Resource.Check.
type Check struct {
	Name    string
	Asserts []*Condition
	Scoped  []Name // the data and ephemeral blocks inside of the check block
	Range   diag.Range
}

// Moved is a moved block.
type Moved struct {
	From, To Endpoint
	Range    diag.Range
}

// Removed is a removed block.
type Removed struct {
	From         Endpoint    // the address, without instance keys
	Destroy      *bool       // lifecycle { destroy }; nil if absent
	Connection   *Connection // nil if absent
	Provisioners []*Provisioner
	Range        diag.Range
}

// Import is an import block.
type Import struct {
	To       hcl.Expression // an address whose instance keys may use the variable each
	Resource addr.Resource  // the address of To without instance keys
	ID       hcl.Expression // nil if Identity is set
	Identity hcl.Expression // nil if ID is set
	ForEach  hcl.Expression // nil if absent
	Provider *ProviderRef   // nil if absent
	IfExists bool           // if the provider finds no object to import, the object is created
	Range    diag.Range
}

// Endpoint is an address in a moved or removed block, relative to its module.
type Endpoint struct {
	Target addr.Target
	Range  diag.Range
}

// ImpliedProvider returns the local name that a resource type implies: the part before the first underscore, or the
// whole type if it has none.
func ImpliedProvider(typ string) string {
	for i := range len(typ) {
		if typ[i] == '_' {
			return typ[:i]
		}
	}
	return typ
}

// Node is a module in the tree of calls. Calls with the same source share one *Module.
type Node struct {
	Path     addr.Module
	Module   *Module
	Call     *Call            // nil for the root
	Parent   *Node            // nil for the root
	Children map[string]*Node // the nodes of the called modules, by name of the call
	Source   string           // the source argument as written, for the module manifest; "" for the root
	Version  string           // the selected version, "" if the module has no version
	Led      string           // the result of SourceDir if the source of a local module contains symbolic links; otherwise ""

	// Amended holds the resources whose lifecycle arguments differ in this node, because they were evaluated or because
	// a module call around the node sets them.
	Amended map[Name]*Resource

	NoDeprecations bool // the user disabled warnings about deprecated features for this module
}

// Tree is a whole configuration.
type Tree struct {
	Root    *Node
	Sources *diag.Sources

	// Closed is true if the tree cannot be checked further: a module requires another version, or the tree has too many
	// modules.
	Closed bool

	// Called is true if the root module is checked like a module that other modules call. Its configuration_aliases
	// then count as passed by the caller.
	Called bool
}

// Resolve returns the directory, the source and the version of a called module. It evaluates the source and version
// expressions of the call, because package config cannot evaluate expressions. If the call cannot be resolved, Resolve
// adds an error to bag and returns false.
type Resolve func(path addr.Module, call *Call, parent *Node, bag *diag.Bag) (dir, source, version string, ok bool)

// Walk calls f for n and every module below n, each parent before its children.
func (n *Node) Walk(f func(*Node)) {
	f(n)
	for _, name := range sortedKeys(n.Children) {
		n.Children[name].Walk(f)
	}
}

// Provider returns the provider that a local name means in this module: the source of the requirement with this name.
// If the module has no such requirement, it is the provider that addr.Default returns.
func (n *Node) Provider(local string) addr.Provider {
	if r := n.Module.Required[local]; r != nil {
		return r.Source
	}
	return addr.Default(local)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// byPlace returns the attributes in the order of the source.
func byPlace(attrs hcl.Attributes) []*hcl.Attribute {
	out := make([]*hcl.Attribute, 0, len(attrs))
	for _, a := range attrs {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *hcl.Attribute) int { return inSource(a.Range, b.Range) })
	return out
}

// inSource compares two ranges by their order in the source.
func inSource(a, b hcl.Range) int {
	return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Start.Byte, b.Start.Byte))
}

// sortedNames returns the names of provider configurations, sorted.
func sortedNames(m map[ProviderName]*Provider) []ProviderName {
	return slices.SortedFunc(maps.Keys(m), func(a, b ProviderName) int {
		return cmp.Or(cmp.Compare(a.Local, b.Local), cmp.Compare(a.Alias, b.Alias))
	})
}
