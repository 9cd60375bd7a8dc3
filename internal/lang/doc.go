// Package lang is the meaning of a configuration: compiled once, evaluated many times.
//
// Compile turns the declarations of a module tree into a Program: every reference is found and
// resolved, names are checked, cycles are reported. Check holds a Program against the schemas of
// its providers. A Frame is one module instance in one walk: a slot for every declaration, with
// two faces, before (what is there) and after (what will be). Variables, locals, outputs and
// repetition are cells: pure, computed on first use and remembered. Values of resources are put
// into slots by the engine. Static evaluation is a frame without objects.
//
// The ideas:
//
//   - A module is compiled once as a unit, however often it is called; declarations have an index in
//     their unit, and a node adds its base to make a Decl. Frames are arrays over those indexes.
//   - An expression is the parser's tree with nodes of ours in it (expr.go): a reference finds its
//     frame through the evaluation context and is evaluated where it stands, so that conditionals,
//     try and for mean what they mean. A reference to one instance never builds the others.
//   - A body is compiled against its schema (body.go): evaluating it converts and assembles, and
//     decides nothing.
//   - Marks are never lost on the way (nodes.go, calls.go), at cell borders they are folded and get
//     one step more of the way they came; borders refuse them with that way in the message.
//   - What goes wrong is a diagnostic that the cell keeps, for everyone who needs the cell. What has
//     failed elsewhere travels silently, as an Outcome.
//   - Whatever a configuration may ask for is bounded (budget.go).
//
// Invariants: a cell changes nothing and waits for nothing but a function call (I5); what goes down
// is never served by a value that is not there yet (I18): reading an empty slot is a panic.
package lang
