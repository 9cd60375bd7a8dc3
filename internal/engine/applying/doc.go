// Package applying applies plans: it runs the steps of a plan, in their order.
//
// Apply answers a Request with a Result. The caller must store its snapshot even if the apply failed. The applier holds
// the data that the steps share: the working state and counts. A step creates, updates, reads, destroys or forgets one
// object, runs a provisioner, invokes an action, evaluates conditions, or begins or ends the use of a provider or an
// ephemeral resource. Each change of an object is durable in the journal (a file that a later command replays after a
// crash) before any provider call that depends on it (steprecords.go). The exception is metadata of unchanged objects,
// such as dependencies (amend).
package applying
