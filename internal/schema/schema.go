// Package schema represents the schemas of providers, and has the rules that follow from them: how a configuration
// becomes a value, which value is proposed to the provider, and whether the provider's answer is valid.
//
// A Schema does not change after it was built, and all goroutines share it. Data that is computed from it (the cty
// type, codecs, shapes) is computed at its first use and kept. The package calls no providers and reads no files.
//
// The files form layers, each above the files that it uses: the rules (propose.go, check_plan.go, check_apply.go and
// others); codec.go, the encodings of objects (json_decode.go, encode.go, decode.go), read.go; shape.go, objects.go,
// derive.go; schema.go and compile.go.
package schema

import (
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// Schema describes one type of object: a resource of some mode, a provider's configuration, or the metadata that a
// module has for a provider.
type Schema struct {
	Version int64 // the version of the stored form; objects with a lower version must be upgraded
	*Block
}

// Block describes the content of a configuration block: its attributes and nested blocks.
type Block struct {
	Attrs  []*Attr   // sorted by name
	Blocks []*Nested // sorted by name

	Description string
	Markdown    bool // the description is Markdown
	Deprecated  bool
	Deprecation string // the provider's message about the deprecation; "" for none

	derived // computed at their first use; see derive.go
}

// Attr describes one attribute.
type Attr struct {
	Name string
	Type cty.Type // the type of the whole attribute, also if Object is set
	// Object describes a nested attribute (protocol 6). It is nil for other attributes.
	Object *Object

	Description string
	Markdown    bool

	Required, Optional, Computed bool
	Sensitive                    bool
	WriteOnly                    bool
	Unstored                     bool // a built-in provider adds the attribute; states do not contain it, because Terraform and OpenTofu would reject it
	Deprecated                   bool
	Deprecation                  string
}

// Object describes the objects of a nested attribute.
type Object struct {
	Attrs   []*Attr // sorted by name
	Nesting Nesting // Single, List, Set or Map
}

// Nested describes a type of block inside a block.
type Nested struct {
	Name    string
	Block   *Block
	Nesting Nesting
	Min     int
	Max     int // the maximum number of blocks; 0 means no limit
}

// Nesting tells how many objects a nested attribute or a block type has, and how they are distinguished.
type Nesting uint8

// The kinds of nesting.
const (
	Single Nesting = iota + 1 // zero or one object
	Group                     // always one object; its attributes are null if the configuration has no block
	List
	Set
	Map
)

// Of returns the type of the collection of objects, if one object has the type ty. For Single and Group it returns ty.
func (n Nesting) Of(ty cty.Type) cty.Type {
	switch n {
	case List:
		return cty.List(ty)
	case Set:
		return cty.Set(ty)
	case Map:
		return cty.Map(ty)
	}
	return ty
}

func (n Nesting) String() string {
	return [...]string{"invalid", "single", "group", "list", "set", "map"}[n]
}

// derived has data that is computed from the description of a block.
type derived struct {
	typeOnce sync.Once
	typ      cty.Type

	shapeOnce sync.Once
	compiled  *shape

	ambiguousOnce sync.Once
	ambiguous     []*Nested
}

// A shape is a block, or the inside of a nested attribute, in the form in which the rules of this package use it. It
// lists the attributes and block types of an object, each with its codec and with properties of everything inside it.
// The rules visit the shape and the value together, and skip nodes that cannot contain anything relevant to the rule.
type shape struct {
	*codec           // the codec of one object
	nodes  []*node   // the attributes and block types, sorted by name
	empty  cty.Value // the value of a block without content
	exact  []string  // the names of attributes, not block types, whose types contain no dynamic type
	// blockTypes is the number of nodes that are block types.
	blockTypes int
	deep
}

// node is one attribute or one block type of a shape.
type node struct {
	*codec // the codec for the value of the attribute, or of all blocks of the block type
	name   string
	step   cty.PathStep // the path step from the object to the node
	attr   *Attr        // the attribute; nil for a block type
	block  *Nested      // the block type; nil for an attribute
	inner  *shape       // the shape of one object of a nested attribute or block type; nil for other attributes
	// nesting is the nesting of inner, or 0 if inner is nil.
	nesting Nesting
	deep
}

// deep has properties of a node and of everything inside it, at any depth.
type deep struct {
	computed  bool // the node contains a value that the provider may set
	sensitive bool
	writeOnly bool
	blocks    bool // the node contains blocks
}
