// Package run has the common parts of planning, applying and validating: a walk through a program.
//
// New starts a Run in an Env (the Settings of the command, and the Handover between its runs) from a Request. The
// Request has the Kind of the walk, and functions of the walk that the run calls: whether a lease may be opened
// (Ready), and how the prior values of a declaration (the before face) are prepared (Before). A Run has these parts:
//
//   - Budget: the limits on calls and jobs. A limited number of calls runs concurrently, and none starts after the
//     interrupt; Shutdown has the contexts that end the waiting for calls in progress;
//   - Sessions: configured provider processes, one for each instance of a provider configuration and face. They start
//     when the first job needs them (Get), are settled without a start (Settle), shared if the settings on both faces
//     are the same, and kept for the next run (Keep) or ended (Close);
//   - Types: the types of objects, described once;
//   - Leases (package leases), opened for a declaration by Receive;
//   - Conditions: pre- and postconditions, validations, checks, and unused values. Checks has the results;
//   - Results: the results of functions, which must not change between plan and apply;
//   - Tools, ToolsAfter, StoredUse: package object's tools for one object;
//   - Account: ensures at the end of a walk that each failure was reported (ADR 41).
//
// The guard (guard.go) registers the ephemeral values of variables and of function arguments as secrets when they are
// evaluated. Diagnostics go to the Bag of the Run, or to a bag that the caller passes. Jobs for a check block use a
// copy of the Run with a separate bag (ScopedData), whose errors become warnings. All copies share the other parts. If
// a shared part such as a session fails, it reports its failure to each job that needs it.
package run
