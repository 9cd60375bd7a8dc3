// Package applying applies plans. Its walk runs the steps of a plan.
//
// Apply answers a Request with a Result, whose snapshot must be stored even if the apply failed. The applier holds the
// data that the steps share: the working snapshot and counts. A step takes one object up or down, runs a provisioner,
// or begins or ends a session of a hold. Each change is durable in the journal before any call that depends on it
// (steprecords.go).
package applying
