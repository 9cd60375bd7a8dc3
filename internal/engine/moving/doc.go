// Package moving computes the new addresses of stored objects after a change of the configuration. Objects move because
// of moved blocks, and because count or enabled was added or removed.
//
// Make computes the moves from a program and a state, and evaluates nothing. Some mistakes in moved blocks can be found
// only when planning has evaluated the instance keys. CheckLeft and Faults report these mistakes.
package moving
