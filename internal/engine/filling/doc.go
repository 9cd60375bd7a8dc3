// Package filling fills a frame.Frame from a state or a plan: with the keys of instances, and with the values of
// objects that a walk does not change. It calls no provider.
//
// A frame holds the values of a configuration, in one module instance. Each value has two faces: the before face is the
// value before the run's changes (the prior state), and the after face is the planned value. A walk visits the nodes of
// the configuration: the plan walk declarations, the apply walk the steps of the plan.
//
// The keys of instances are decided once (ADR 24):
//
//   - On the before face, ExpandBefore sets the keys of module calls that the state contains. When the frame evaluates
//     count, for_each or enabled (the repetition), it adds the keys of the repetition.
//   - On the after face, the plan walk sets the keys. It expands a module call after all references of the call's
//     repetition are decided, and a resource when the walk reaches the resource.
//   - CollectKeys copies the known keys to the plan, but not those of ephemeral resources.
//   - Applied sets the keys of the plan in the frame of the apply walk. A key that planning did not decide is unknown.
//     The apply walk evaluates only each.value of a repetition, and only if it is used. So code that visits module
//     instances, such as the order of steps, evaluates nothing.
//
// The package fills three frames. Applied fills the frame of an apply walk before the walk starts. Predicted fills a
// frame with the values that an apply walk is expected to end with, for the preview of leases. Stored fills the before
// face of a frame with a state, for the console and other readers of one state.
package filling
