// Package ordering translates a plan into the numbers of plan.Order, and translates its steps back.
//
// plan.Order uses integers for groups, gates, objects and holds. New creates these integers from a Source:
//
//   - a resource in a module instance is a group;
//   - a value declaration in a module instance is a gate;
//   - a provider instance or an ephemeral resource is a hold (Hold);
//   - references of the program are declared dependencies, references in the state are recorded dependencies.
//
// An Ordering also has the meaning of the index in a step: an object (Objects), conditions (Tests) or a hold (Holds).
//
// Three callers use the package and get the same order. SettleReplacements, at the end of planning, determines which
// replacements are create-first. The apply walk determines its steps. PreviewLeases determines the leases that an apply
// will open, and their receivers. The package evaluates no values: it needs only a frame with all instance keys.
package ordering
