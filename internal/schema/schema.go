// Package schema is what a provider says an object looks like, and the pure rules that follow
// from it: how a configuration becomes a value, what is proposed to the provider, and whether
// what it answers fits.
//
// A Schema is immutable once made and shared by everything that runs; derived things (the cty
// type, codecs, lists of paths) are computed once and kept. Nothing here calls a provider or
// touches files.
//
// Files stand in layers, each above those that it uses: the rules (propose.go, check_plan.go, check_apply.go and others);
// codec.go, the forms of objects (json_decode.go, encode.go, decode.go), read.go; shape.go, objects.go,
// derive.go; schema.go and compile.go.
package schema

import (
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// Schema describes one type of object: a resource of some mode, a provider's settings, or its
// per-module metadata.
type Schema struct {
	Version int64 // of the stored form; upgrades start from lower ones
	*Block
}

// Block is the inside of a configuration block: attributes, and blocks nested in it.
type Block struct {
	Attrs  []*Attr   // sorted by name
	Blocks []*Nested // sorted by name

	Description string
	Markdown    bool // the description is Markdown
	Deprecated  bool
	Deprecation string // the provider's message about it

	derived // computed on first use; see derive.go
}

// Attr is one attribute.
type Attr struct {
	Name string
	Type cty.Type // of the whole attribute, also where Object is set
	// Object describes a nested attribute (protocol 6); nil for plain ones.
	Object *Object

	Description string
	Markdown    bool

	Required, Optional, Computed bool
	Sensitive                    bool
	WriteOnly                    bool
	Unstored                     bool // states do not have it: a built-in attribute that Terraform and OpenTofu would refuse there
	Deprecated                   bool
	Deprecation                  string
}

// Object is the shape of a nested attribute.
type Object struct {
	Attrs   []*Attr // sorted by name
	Nesting Nesting // Single, List, Set or Map
}

// Nested is a type of block inside a block.
type Nested struct {
	Name    string
	Block   *Block
	Nesting Nesting
	Min     int
	Max     int // 0: no limit
}

// Nesting says how many there are and how they are told apart.
type Nesting uint8

// The kinds of nesting.
const (
	Single Nesting = iota + 1 // none or one
	Group                     // always one, with nulls inside where the user wrote nothing
	List
	Set
	Map
)

// Of is the type of what is nested so, where one of it has the type ty.
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

// derived is what follows from a block's description.
type derived struct {
	typeOnce sync.Once
	typ      cty.Type

	shapeOnce sync.Once
	compiled  *shape

	ambiguousOnce sync.Once
	ambiguous     []*Nested
}

// A shape is a block, or the inside of a nested attribute, prepared for the rules of this package:
// one list of everything that an object of it holds, each with its codec and with what is known
// about all that lies in it. Rules walk shapes and values side by side; what a rule has no interest
// in is skipped as a whole.
type shape struct {
	*codec           // of one object
	nodes  []*node   // sorted by name
	empty  cty.Value // what a block without content gives
	exact  []string  // names of attributes, not blocks, of which nothing is dynamic
	// blockTypes is the number of nodes that are blocks.
	blockTypes int
	deep
}

// node is one attribute or one type of block.
type node struct {
	*codec // of the whole: of all blocks of a type together
	name   string
	step   cty.PathStep // to it
	attr   *Attr        // nil for blocks
	block  *Nested      // nil for attributes
	inner  *shape       // of one element; nil for plain attributes
	// nesting is that of inner; 0 for plain attributes.
	nesting Nesting
	deep
}

// deep tells what something is, or has in it at any depth.
type deep struct {
	computed  bool // something that the provider may fill in
	sensitive bool
	writeOnly bool
	blocks    bool
}
