// Package run has what planning, applying and validating have in common: one walk through a program.
//
// New begins a Run in an Env (the Settings of the command, and what its runs hand over to each other) from a
// Request, which says also what the run asks of the walk that it is for: whether a lease may be opened (Ready),
// and to get a declaration ready on the before face (Before). A Run offers
//
//   - Sessions: configured provider processes, one for each instance of a provider configuration and face;
//     they are started when the first job needs them (Get), settled without being started (Settle), shared where
//     the settings on both faces are the same, kept for the next run (Keep) or ended (Close);
//   - Leases (package leases), opened for a declaration by Receive;
//   - TypeOf, ToolsAfter, ToolsOn, Tools: what package object needs to work on one object;
//   - Pre, Post, Test and CheckValues: conditions, and values that nothing needs; their results are in Checks;
//   - Account: at the end of a walk it makes sure that each failure was reported (ADR 41);
//   - the guard: what ephemeral variables and functions give is registered as secret when it passes.
//
// Diagnostics go to the Bag of the Run. What stands in a check block is done by Scoped with a copy that has a
// bag of its own, whose errors are warnings. All other parts of a Run are shared by its copies; what is shared, such
// as a session, reports to each part that needs it.
package run
