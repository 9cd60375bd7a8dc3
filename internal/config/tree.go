package config

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Node is a module in the tree of calls. Calls with the same source share one *Module.
type Node struct {
	Path     addr.Module
	Module   *Module
	Call     *Call            // nil for the root
	Parent   *Node            // nil for the root
	Children map[string]*Node // by call name
	Source   string           // as written, for the module manifest; "" for the root
	Version  string           // chosen version, "" where there is none

	NoDeprecations bool // the user asked for no warnings about what is deprecated in this module
}

// Tree is a whole configuration.
type Tree struct {
	Root    *Node
	Sources *diag.Sources

	// Closed: nothing more can be said of the configuration. A module is for another version, or
	// there is none, or there are too many.
	Closed bool
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
