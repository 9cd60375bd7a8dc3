// Package filling puts into a frame.Frame what a state or a plan says: which instances there are, and the
// values of objects that nothing is done to in this walk.
//
// Which instances there are is decided once (ADR 24). On the before face they are those in the state, with
// what a repetition says besides (ExpandBefore). On the after face a module call is expanded at its node of
// the plan walk, when all that its repetition refers to was decided, and resources are at theirs. The plan
// hands the keys on (CollectKeys), and the apply walk takes them (Applied): it evaluates of a repetition
// nothing but each.value, where that is asked for. So code that visits module instances, such as the order of
// steps, evaluates nothing.
//
// Three frames are filled here: that of an apply walk as it begins (Applied), that of the preview of
// leases, which stands where an apply walk would end (Foreseen), and that of the console, which shows a
// state (Stored). None of these asks a provider for anything.
package filling
