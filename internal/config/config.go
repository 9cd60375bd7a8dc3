// Package config turns files into declarations, without evaluating anything.
//
// A Module is one directory of files, merged; a Tree is the root module with all that its calls
// bring in. Expressions stay expressions (package lang gives them meaning); what the language
// wants to be literal is read here. Every declaration knows where it stands.
//
// The loader takes what Terraform and OpenTofu take: native and JSON syntax, .tf and .tofu, override files.
// It collects all mistakes it finds into the bag and returns what it understood. It works in this
// order: texts are checked as they are parsed (package syntax: a bomb is refused, because the
// parser cannot refuse it); the versions that a module asks for are checked before anything else
// is said about it (version.go); override files are laid over the blocks that they change
// (overrides.go, merge.go); then each block is read by the file named after it.
//
// Bodies are *hclsyntax.Body in native syntax, without what was read here. Where JSON is involved
// (IsJSON) they are something else, and only a schema tells their arguments from their blocks;
// Native makes the expressions of both syntaxes one kind of tree.
//
// What depends on values is not checked here, nor what depends on a provider's schema, nor which
// provider configurations modules get: package lang does that.
//
// Beside configuration the package reads files of values (values.go), and reads and writes lock files (lock.go,
// modulelock.go). Package style writes configuration.
//
// Files stand in layers, each above those that it uses:
//
//	loadtree.go, load.go        a tree, a module
//	overrides.go, settings.go   blocks before they are read
//	output.go, resource.go …    a file for each block
//	condition.go, refs.go …     parts of blocks
//	reader.go                   what all of these read with
//	merge.go, json.go           bodies that are two, JSON as native syntax
//	files.go, options.go        texts, and where they are read from
//	config.go                   what is declared, and the tree
package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Module is one directory of configuration files.
type Module struct {
	Dir     string // as given; ranges name files below it
	Files   []File // all that were read, in order
	Version []VersionConstraint

	Required   map[string]*Requirement // by local name; explicit ones and the implied ones of use
	Backend    *Backend
	Cloud      *Backend         // type "cloud"
	Overridden []*Backend       // backend and cloud blocks that those of override files took the place of
	Encryption hcl.Body         // terraform { encryption {} }, nil if absent
	Meta       map[string]*Meta // provider_meta by local name

	Variables map[string]*Variable
	Locals    map[string]*Local
	Outputs   map[string]*Output
	Calls     map[string]*Call
	Providers map[ProviderName]*Provider
	Resources map[Name]*Resource // of all modes
	Checks    map[string]*Check

	Moved   []*Moved
	Removed []*Removed
	Imports []*Import

	VersionMismatch bool // it asks for another version: nothing else of it was read
	unreadable      bool
	broken          diag.Places // blocks that mistakes were found in
}

// Stored is the backend or the cloud block: where the state is kept; nil where neither is there.
func (m *Module) Stored() *Backend {
	if m.Cloud != nil {
		return m.Cloud
	}
	return m.Backend
}

// Unreadable reports whether the module may declare more than is known: a file of it could not be parsed, or the name
// or the header of a block is wrong. Then what seems not to be declared is not reported: it may stand there.
func (m *Module) Unreadable() bool { return m.unreadable }

// Broken reports whether a mistake was found in the block at a place, so that not all of what it says may
// be known.
func (m *Module) Broken(at hcl.Range) bool { return m.broken.Has(at) }

// File is one file as read.
type File struct {
	Name  string // path as ranges spell it
	Bytes []byte
}

// Name names a resource inside its module.
type Name struct {
	Mode       addr.Mode
	Type, Name string
}

// In is the resource in the module at that path.
func (n Name) In(m addr.Module) addr.Resource {
	return addr.Resource{Module: m, Mode: n.Mode, Type: n.Type, Name: n.Name}
}

// ProviderName names a provider configuration inside its module.
type ProviderName struct {
	Local string
	Alias string // "" is the default configuration
}

// String is "aws" or "aws.west".
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
	Required bool // it is a required_version
}

// Requirement is an entry of required_providers, or what using a local name implies.
type Requirement struct {
	Local     string
	Source    addr.Provider
	HostGiven bool // the source names the host itself
	Versions  []VersionConstraint
	Aliases   []ProviderName // configuration_aliases
	Range     diag.Range     // zero for implied ones
	Uncertain bool           // implied only because its entry may stand where the module could not be read
}

// Backend is a backend or cloud block.
type Backend struct {
	Type  string
	Body  hcl.Body
	Range diag.Range
}

// Meta is a provider_meta block. Its body holds nothing but constants, as in Terraform and OpenTofu: what a module
// says of itself to a provider does not depend on how it is called, and holds no secret.
type Meta struct {
	Body  hcl.Body // in native syntax, evaluated
	Range diag.Range
}

// Variable is a variable block.
type Variable struct {
	Name         string
	Description  string
	Type         cty.Type  // constraint, with optional attributes; DynamicPseudoType if any
	Defaults     *Defaults // of optional attributes; nil if there are none
	TypeGiven    bool
	Default      cty.Value // NilVal if there is none; already of Type
	DefaultRange diag.Range
	Nullable     bool
	Sensitive    bool
	Ephemeral    bool
	Const        bool
	Deprecated   string
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
	Expr          hcl.Expression
	Type          cty.Type // NilType if not given
	Defaults      *Defaults
	Sensitive     bool
	Ephemeral     bool
	Deprecated    string
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

// Repeat is how often a thing is instantiated. At most one is set.
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
	Body        hcl.Body       // the module's inputs: what is no meta-argument, `_ {}` included
	Repeat
	DependsOn      []hcl.Traversal
	Providers      []Passed
	ProvidersGiven bool // there is a providers argument, even an empty one
	// IgnoreNestedDeprecations: no warnings about what is deprecated in the text of the module.
	IgnoreNestedDeprecations bool
	Range                    diag.Range
}

// Passed is one entry of a providers argument.
type Passed struct {
	Child  ProviderName
	Parent ProviderRef
	Range  diag.Range
}

// ProviderRef is a reference to a provider configuration, with an instance key where it is
// repeated.
type ProviderRef struct {
	ProviderName
	Key   hcl.Expression // nil: none
	Range diag.Range
}

// Provider is a provider block.
type Provider struct {
	ProviderName
	Versions []VersionConstraint // the deprecated version argument
	ForEach  hcl.Expression
	Body     hcl.Body // settings
	Range    diag.Range
}

// Resource is a resource, data or ephemeral block.
type Resource struct {
	Name
	Repeat
	DependsOn    []hcl.Traversal
	Provider     *ProviderRef // nil: implied by the type's prefix
	Body         hcl.Body     // what the provider's schema describes
	Lifecycle    Lifecycle
	Connection   *Connection
	Provisioners []*Provisioner
	Check        string // the check block that holds it, "" if none
	Range        diag.Range
	TypeRange    diag.Range
}

// HasResourcesOf is whether resources of the module, of any mode, use the provider with a local name.
func (m *Module) HasResourcesOf(local string) bool {
	for _, r := range m.Resources {
		if r.LocalProvider().Local == local {
			return true
		}
	}
	return false
}

// LocalProvider is the local name of the provider that the block uses.
func (r *Resource) LocalProvider() ProviderName {
	if r.Provider != nil {
		return r.Provider.ProviderName
	}
	return ProviderName{Local: ImpliedProvider(r.Type)}
}

// Lifecycle is a lifecycle block; which parts may be set depends on the mode.
type Lifecycle struct {
	CreateFirst    bool
	PreventDestroy hcl.Expression // nil: not set
	Destroy        hcl.Expression // nil: not set; destroy = false forgets
	IgnoreAll      bool
	Ignore         []hcl.Traversal  // relative to the resource
	Triggers       []hcl.Expression // replace_triggered_by
	Preconditions  []*Condition
	Postconditions []*Condition
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
	Connection *Connection // own one; nil: the resource's
	Range      diag.Range
}

// Check is a check block. Its data and ephemeral blocks are in Module.Resources, with Check set.
type Check struct {
	Name    string
	Asserts []*Condition
	Scoped  []Name
	Range   diag.Range
}

// Moved is a moved block.
type Moved struct {
	From, To Endpoint
	Range    diag.Range
}

// Removed is a removed block.
type Removed struct {
	From         Endpoint // without instance keys
	Destroy      *bool    // lifecycle { destroy }; nil: not said
	Connection   *Connection
	Provisioners []*Provisioner
	Range        diag.Range
}

// Import is an import block.
type Import struct {
	To       hcl.Expression // an address, with keys that may use each
	Resource addr.Resource  // what To names, without keys
	ID       hcl.Expression // nil where Identity is set
	Identity hcl.Expression
	ForEach  hcl.Expression
	Provider *ProviderRef
	Range    diag.Range
}

// Endpoint is an address in a moved or removed block, relative to its module.
type Endpoint struct {
	Target addr.Target
	Range  diag.Range
}

// ImpliedProvider is the local name that a resource type implies: what stands before the first
// underscore.
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
	Children map[string]*Node // by call name
	Source   string           // as written, for the module manifest; "" for the root
	Version  string           // chosen version, "" where there is none
	Led      string           // Way, where the source of a local module leads over symbolic links; "" where it does not

	NoDeprecations bool // the user asked for no warnings about what is deprecated in this module
}

// Tree is a whole configuration.
type Tree struct {
	Root    *Node
	Sources *diag.Sources

	// Closed: nothing more can be said of the configuration. A module is for another version, or
	// there is none, or there are too many.
	Closed bool

	// Called: the root module is looked at as one that others call, and that is passed what its
	// configuration_aliases name.
	Called bool
}

// Resolve finds the directory of a called module. It evaluates call's source and version
// expressions itself: static evaluation is package lang's.
type Resolve func(path addr.Module, call *Call, parent *Node, bag *diag.Bag) (dir, source, version string, ok bool)

// Walk visits every module, parents first.
func (n *Node) Walk(f func(*Node)) {
	f(n)
	for _, name := range sortedKeys(n.Children) {
		n.Children[name].Walk(f)
	}
}

// Provider is the provider that a local name means in this module.
func (n *Node) Provider(local string) addr.Provider {
	if r := n.Module.Required[local]; r != nil {
		return r.Source
	}
	return addr.Default(local)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// byPlace lists attributes in the order of the source.
func byPlace(attrs hcl.Attributes) []*hcl.Attribute {
	out := make([]*hcl.Attribute, 0, len(attrs))
	for _, a := range attrs {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *hcl.Attribute) int { return inSource(a.Range, b.Range) })
	return out
}

// inSource compares two places by their order in the source.
func inSource(a, b hcl.Range) int {
	return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Start.Byte, b.Start.Byte))
}

// sortedNames lists provider configurations by their names.
func sortedNames(m map[ProviderName]*Provider) []ProviderName {
	return slices.SortedFunc(maps.Keys(m), func(a, b ProviderName) int {
		return cmp.Or(cmp.Compare(a.Local, b.Local), cmp.Compare(a.Alias, b.Alias))
	})
}
