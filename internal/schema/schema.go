// Package schema represents a provider's schemas and implements the pure rules that follow from them: how a
// configuration becomes a value, which value is proposed to the provider, and whether the provider's answer is valid.
//
// A Schema does not change after it was built, and all goroutines share it. Derived data (the cty type, codecs, shapes)
// are computed once and kept. The package does not call providers and does not access files.
//
// The files form layers, each above the files that it uses: the rules (propose.go, check_plan.go, check_apply.go and
// others); codec.go, the encodings of objects (json_decode.go, encode.go, decode.go), read.go; shape.go, objects.go,
// derive.go; schema.go and compile.go.
package schema

import (
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// Schema describes one type of object: a resource of some mode, a provider's configuration, or a provider's metadata of
// a module.
type Schema struct {
	Version int64 // version of the stored form; objects with a lower version are upgraded
	*Block
}

// Block describes the content of a configuration block: its attributes and nested blocks.
type Block struct {
	Attrs  []*Attr   // sorted by name
	Blocks []*Nested // sorted by name

	Description string
	Markdown    bool // the description is Markdown
	Deprecated  bool
	Deprecation string // the provider's message about the deprecation

	derived // computed on first use; see derive.go
}

// Attr describes one attribute.
type Attr struct {
	Name string
	Type cty.Type // the type of the whole attribute, even if Object is set
	// Object describes a nested attribute (protocol 6). It is nil for other attributes.
	Object *Object

	Description string
	Markdown    bool

	Required, Optional, Computed bool
	Sensitive                    bool
	WriteOnly                    bool
	Unstored                     bool // not in states: Terraform and OpenTofu would reject this built-in attribute
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
	Max     int // 0: no limit
}

// Nesting is the number of objects and the way to distinguish them.
type Nesting uint8

// The kinds of nesting.
const (
	Single Nesting = iota + 1 // zero or one object
	Group                     // always one object, with null attributes if the user wrote no block
	List
	Set
	Map
)

// Of returns the type of the collection, if one element has type ty. It returns ty for Single and Group.
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

// derived holds data that are computed from a block's description.
type derived struct {
	typeOnce sync.Once
	typ      cty.Type

	shapeOnce sync.Once
	compiled  *shape

	ambiguousOnce sync.Once
	ambiguous     []*Nested
}

// A shape is a block, or the inside of a nested attribute, prepared for the rules of this package. It lists the
// attributes and blocks of an object, each with its codec and the properties of everything inside it. The rules walk
// through shape and value together, and skip nodes that cannot contain anything relevant to the rule.
type shape struct {
	*codec           // the codec of one object
	nodes  []*node   // sorted by name
	empty  cty.Value // the value of a block without content
	exact  []string  // names of attributes, not blocks, whose types contain no dynamic type
	// blockTypes is the number of nodes that are blocks.
	blockTypes int
	deep
}

// node is one attribute or one block type of a shape.
type node struct {
	*codec // the codec for the value of the attribute, or of all blocks of the type
	name   string
	step   cty.PathStep // the step from the object to the node
	attr   *Attr        // nil for blocks
	block  *Nested      // nil for attributes
	inner  *shape       // the shape of one element; nil for plain attributes
	// nesting is the nesting of inner, and 0 for plain attributes.
	nesting Nesting
	deep
}

// deep holds properties of a node and of everything inside it, at any depth.
type deep struct {
	computed  bool // contains a value that the provider may set
	sensitive bool
	writeOnly bool
	blocks    bool // contains blocks
}
