// Package experiment has the names of experiments. An experiment is a feature that may change or disappear in any
// release, so it is off until the user switches it on: with the global option -experiment or with the environment
// variable LETHE_EXPERIMENT, which both accept names separated by commas.
package experiment

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/shortcut"
)

// Set is a set of experiments.
type Set uint8

// StateStore permits state_store blocks, for providers that store states (ADR 60).
const StateStore Set = 1 << iota

// names are the names of the experiments, in the order of their bits in a Set.
var names = []string{"state-store"}

// Variable is the environment variable that lists experiments, as the option -experiment does.
const Variable = "LETHE_EXPERIMENT"

// StateStoreVariable is Terraform's environment variable for the experiment StateStore.
const StateStoreVariable = "TF_ENABLE_PLUGGABLE_STATE_STORAGE"

// Parse parses a list of names that are separated by commas.
func Parse(list string) (Set, error) { return shortcut.Names[Set]("experiment", names, list) }

// Has reports whether the set contains the experiment x. If x has several experiments, it reports whether the set
// contains one of them.
func (s Set) Has(x Set) bool { return s&x != 0 }

// Advice returns the ways to switch on an experiment, as the end of a sentence. x must be exactly one experiment.
func Advice(x Set) string {
	name := names[slices.IndexFunc(names, func(n string) bool { s, _ := Parse(n); return s == x })]
	return fmt.Sprintf("use the global option -experiment=%s, or set %s=%s", name, Variable, name)
}
