// Package filling fills a frame.Frame from a state or a plan: with the keys of instances, and with the values of
// objects that a walk does not change.
//
// Instance keys are decided once (ADR 24). On the before face they are the keys in the state, plus the keys of the
// repetition (ExpandBefore). On the after face the plan walk expands a module call at its node, after all references of
// its repetition were decided, and a resource at its own node. The plan contains the keys (CollectKeys), and the apply
// walk uses them (Applied): it evaluates only each.value of a repetition, and only if it is used. So code that visits
// module instances, such as the order of steps, evaluates nothing.
//
// The package fills three frames: the frame of an apply walk at its start (Applied); the frame for the preview of
// leases, which corresponds to the end of an apply walk (Predicted); and the frame of the console, which shows a state
// (Stored). It calls no provider.
package filling
