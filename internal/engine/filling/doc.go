// Package filling fills a frame.Frame from a state or a plan: with the keys of instances, and with the values of
// objects that a walk does not change. It calls no provider.
//
// A frame holds the values of one module instance, and the frames of its child modules. Each value has two faces: the
// before face has the value in the prior state, and the after face has the planned value. A walk is the run of a plan
// or an apply: the plan walk visits declarations, the apply walk visits the steps of the plan.
//
// The keys of instances are decided once (ADR 24):
//
//   - On the before face, ExpandBefore sets the keys of module calls that the state contains. When the frame later
//     evaluates count, for_each or enabled of the call, it adds the keys from this evaluation.
//   - On the after face, the plan walk sets the keys: of a module call after the walk has decided everything to which
//     count or for_each of the call refers, and of a resource when the walk reaches the resource.
//   - CollectKeys copies the known keys to the plan, but not the keys of ephemeral resources.
//   - Applied sets the keys of the plan in the frame of the apply walk. A key that planning did not decide is unknown.
//     The apply walk does not evaluate count and enabled again, and evaluates for_each only for each.value. So code
//     that visits module instances, such as the order of steps, evaluates nothing.
//
// The package fills three frames. Applied fills the frame of an apply walk before the walk starts. Predicted fills a
// frame with the values that an apply walk is expected to end with, for the preview of the ephemeral resources that
// apply will open. Stored fills the before face of a frame with a state, for commands that evaluate expressions with
// one state, such as console.
package filling
