// Package shortcut names the optimizations that do not change results, and turns each of them off. Such an optimization
// is called a shortcut. Users turn shortcuts off to find out whether a shortcut causes a fault. Tests run with and
// without shortcuts.
//
// The environment variable LETHE_NO_SHORTCUTS lists the disabled shortcuts (see docs/performance.md).
package shortcut

import (
	"fmt"
	"slices"
	"strings"
)

// Set is a set of shortcuts. Other packages pass and store the set of the disabled shortcuts, so the zero Set leaves
// all shortcuts on.
type Set uint16

// The shortcuts. Each comment describes the program while the shortcut is on.
const (
	Logs      Set = 1 << iota // Lethe starts providers with a log level at which they omit the lines that Lethe would not show
	Sessions                  // apply reuses the processes that plan configured with the same settings
	Settled                   // apply does not plan objects again whose inputs cannot have changed
	Wire                      // a value in a provider's answer with the same bytes as in the request is not decoded
	Packages                  // a provider's package is not read again while its files are the same
	Calls                     // providers are called with the small gRPC client of package rpc, not with the official library
	Schemas                   // a provider is not asked again for the schemas of the same package
	Constants                 // locals that depend on nothing are evaluated once for all walks
	Values                    // cty values are read and made through unexported fields (package ctyvalue)
)

var names = []string{"logs", "sessions", "settled", "wire", "packages", "calls", "schemas", "constants", "values"}

// All is the set of all shortcuts.
const All = Values<<1 - 1

// Variable is the name of the environment variable that lists the disabled shortcuts.
const Variable = "LETHE_NO_SHORTCUTS"

// Parse reads a list of names of shortcuts, separated by commas, and returns their set. The name "all" means all
// shortcuts. Parse ignores white space around a name, and empty names. It returns an error for an unknown name.
func Parse(list string) (Set, error) {
	s, err := Names[Set]("shortcut", append(names[:len(names):len(names)], "all"), list)
	if s > All {
		s = All
	}
	return s, err
}

// Names reads list, a list of names separated by commas. If list contains names[i], bit i of the result is set. Empty
// names are ignored. For a name that is not in names, Names returns an error that calls the name a kind, such as
// "shortcut".
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

// Has reports whether s contains at least one of the shortcuts in x.
func (s Set) Has(x Set) bool { return s&x != 0 }

// String returns the names of the shortcuts, separated by commas. Parse reads this form.
func (s Set) String() string {
	var in []string
	for i, name := range names {
		if s.Has(1 << i) {
			in = append(in, name)
		}
	}
	return strings.Join(in, ",")
}
