// Package frame evaluates a program.
//
// A Frame is one module instance in one walk, which is one pass through the program, such as a plan. Each value in it
// has two versions, called faces: before and after the changes of the run. A Frame keeps
//
//   - a cell for each variable, local and output, which holds the value on each face: computed at its first use and kept
//     (cell.go);
//   - for each resource, provider configuration and action, on each face, the instance keys (keys.go, instances.go,
//     repeat.go), and for each instance of a resource a slot: the place for its object, which the engine puts there
//     (object.go, slots.go);
//   - the frames of the modules that it calls, created at their first use.
//
// A scope is one evaluation in a frame: the instance, the face, and the outcome so far (scope.go). These types do parts
// of its work:
//
//   - references is the expr.Scope of the evaluation: it returns the value of each name in the expression (eval.go);
//   - symbols evaluates count, each and self (symbols.go), resources reads objects from slots, and moduleCalls reads
//     outputs of called modules;
//   - providerCall calls a function of a provider (providercall.go);
//   - inputVariable and moduleOutput compute the value of a variable or an output (variables.go, values.go);
//   - repeater evaluates count, for_each and enabled (repeat.go), conditionCheck a condition (conditions.go), and
//     importer an import block (imports.go);
//   - meter limits the work (meter.go).
//
// All frames of one walk share a walk: the options, the root variables and the limits (budget.go).
//
// Three types are not for walks: StaticFrame evaluates expressions that must be known before a program exists
// (static.go), Console evaluates expressions that a user types (console.go), and Checker evaluates parts of a module
// only to find mistakes (try.go). The interface Run has everything that a frame needs from its run (options.go).
//
// The files form layers, each above the files that it uses: the entry points for callers (imports.go, config.go,
// static.go and others), eval.go, symbols.go, values.go, slots.go, instances.go, repeat.go, scope.go, frame.go, and at
// the bottom the parts of a frame (object.go, keys.go, cell.go, budget.go, options.go). Values read other values
// through expr.Scope.
//
// Invariants: a cell has no side effects, and waits only for other cells and for calls of provider functions (I5). A
// destroy operation never reads a value that does not exist yet (I18): during a walk, reading an empty slot of the
// After face is a panic. The exceptions are ephemeral resources, and resources whose slots the walk no longer fills
// (slots.go).
package frame
