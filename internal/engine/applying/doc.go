// Package applying carries a plan out: the apply walk, over its steps.
//
// Apply answers a Request with a Result, whose snapshot is to be stored however the apply ended. The applier has what
// the steps share: the working snapshot, and counts. A step takes one object up or down, runs a provisioner, or
// begins or ends what is held. Each change is in the journal before any call that depends on it
// (steprecords.go).
package applying
