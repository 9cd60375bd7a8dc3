// Package shortcut names the optimizations that do not change results, and turns each of them off. Users turn them off
// to find out whether a shortcut causes a fault, and tests run with and without them.
//
// The environment variable LETHE_NO_SHORTCUTS lists the disabled shortcuts (see docs/performance.md).
package shortcut

import (
	"fmt"
	"slices"
	"strings"
)

// Set is a set of shortcuts. Callers pass the set of disabled shortcuts: the zero Set disables none.
type Set uint16

// The shortcuts.
const (
	Logs      Set = 1 << iota // providers are told not to write log lines that are not shown
	Sessions                  // apply reuses the processes that plan configured with the same settings
	Settled                   // apply does not plan objects again whose inputs cannot have changed
	Wire                      // an answer with the same bytes as the request is not decoded
	Packages                  // a provider's package is not read again while its files are the same
	Calls                     // providers are called with package rpc, not with all of gRPC
	Schemas                   // a provider is not asked again for the schemas of the same package
	Constants                 // locals that depend on nothing are evaluated once for all walks
	Values                    // cty values are read and made through unexported fields (package ctyvalue)
)

var names = []string{"logs", "sessions", "settled", "wire", "packages", "calls", "schemas", "constants", "values"}

// All is every shortcut.
const All = Values<<1 - 1

// Variable is the name of the environment variable that turns shortcuts off.
const Variable = "LETHE_NO_SHORTCUTS"

// Parse reads a list of names with commas between them; "all" means all shortcuts. It ignores white space around a
// name, and empty names. It returns an error for an unknown name.
func Parse(list string) (Set, error) {
	s, err := Names[Set]("shortcut", append(names[:len(names):len(names)], "all"), list)
	if s > All {
		s = All
	}
	return s, err
}

// Names reads a list of names with commas between them. The result has the bit i for the name i of names. kind is the
// kind of the names in the error for another name.
func Names[S ~uint8 | ~uint16](kind string, names []string, list string) (S, error) {
	var s S
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		i := slices.Index(names, name)
		switch {
		case name == "":
		case i < 0:
			return 0, fmt.Errorf("there is no %s %q; there are: %s", kind, name, strings.Join(names, ", "))
		default:
			s |= 1 << i
		}
	}
	return s, nil
}

// Has reports whether the set contains the shortcut x, or if x has several shortcuts, one of them.
func (s Set) Has(x Set) bool { return s&x != 0 }

// String lists the names, as Parse reads them.
func (s Set) String() string {
	var in []string
	for i, name := range names {
		if s.Has(1 << i) {
			in = append(in, name)
		}
	}
	return strings.Join(in, ",")
}
