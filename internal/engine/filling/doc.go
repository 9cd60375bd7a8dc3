// Package filling fills a frame.Frame from a state or a plan: with the keys of instances, and with the values of
// objects that a walk does not change.
//
// Instance keys are decided once (ADR 24). On the before face, ExpandBefore sets the keys in the state, and the frame
// adds the keys of the repetition. On the after face, the plan walk sets them: it expands a module call after all
// references of the call's repetition are decided, and a resource at its node. CollectKeys copies the keys to the plan,
// and Applied sets them in the frame of the apply walk. That walk evaluates only each.value of a repetition, and only
// if it is used. So code that visits module instances, such as the order of steps, evaluates nothing.
//
// The package fills three frames. Applied fills the frame of an apply walk at its start. Predicted fills a frame like
// an apply walk at its end, for the preview of leases. Stored fills the frame of the console with a state. The package
// calls no provider.
package filling
