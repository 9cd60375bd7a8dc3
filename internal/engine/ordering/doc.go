// Package ordering translates a plan into the numbers that plan.Order works with, and back.
//
// plan.Order knows groups, gates, objects and holds, all of them integers. New makes them from a Source: a
// resource in a module instance is a group, a value declaration in a module instance is a gate, and a
// provider instance or an ephemeral resource is a hold (Hold). Declared dependencies are the references of
// the program, recorded ones those of the state. The Ordering keeps the way back: of an index in a step it
// tells the object (Objects), the conditions (Tests) or the hold (Holds) that is meant.
//
// Three callers use it, with the same result: SettleReplacements at the end of planning, to decide which
// replacements create first; the apply walk, for its steps; and PreviewLeases, which says what an apply
// will open and for whom. All it needs of a walk is a frame that is expanded: it evaluates no values.
package ordering
