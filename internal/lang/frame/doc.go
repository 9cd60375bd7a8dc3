// Package frame evaluates a program.
//
// A Frame is one module instance in one walk. It keeps
//
//   - a cell for each variable, local and output, in two faces: computed on first use and remembered (cell.go);
//   - for each resource and provider configuration, in two faces, which instances there are (keys.go, instances.go, repeat.go), and
//     for each instance a slot, which the engine fills (object.go, slots.go);
//   - the frames of the modules it calls, made when they are first asked for.
//
// A scope is one evaluation in a frame: it is what expr.Scope and expr.Meter mean to nodes (scope.go, eval.go,
// meter.go). Frames of one walk share a walk: options, root variables, limits (budget.go).
//
// StaticFrame evaluates what must be known before there is a program (static.go). Run is all that a frame asks of
// the run that it is a part of (options.go).
//
// Files stand in layers, each above those that it uses: what callers ask for (imports.go, config.go, static.go and the
// others), eval.go, values.go, slots.go, instances.go, repeat.go, scope.go, frame.go, and below it what a frame is made
// of (object.go, keys.go, cell.go, budget.go, options.go). That values need values goes through expr.Scope.
//
// Invariants: a cell changes nothing and waits for nothing but a function call (I5); a down
// is never served by a value that is not there yet (I18): reading an empty slot of a walk is a panic.
package frame
