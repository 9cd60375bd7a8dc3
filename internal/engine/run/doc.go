// Package run has the common parts of planning, applying, validating and querying. Each of these is a walk: it runs the
// nodes of a graph, which evaluate declarations of a program and call providers.
//
// New starts a Run in an Env (the Settings of the command, and the Handover between its runs) from a Request. The
// Request has the Kind of the walk (its operation and mode), and functions that the Run calls: Ready decides whether an
// ephemeral resource may be opened, and Before prepares the prior values to which a declaration refers. A Run has these
// parts:
//
//   - Budget: the limits on calls and jobs. A limited number of calls runs concurrently, and none starts after the
//     interrupt; Shutdown has the contexts that end the waiting for calls in progress;
//   - Sessions: configured provider processes. An instance of a provider configuration has a session with its prior
//     settings (before face) and a session with its planned settings (after face). The two sessions share a process if
//     their settings are equal. Get starts the process for the first job that needs it. Settle only evaluates the
//     settings. Keep leaves processes to the next run of the command, and Close ends them;
//   - Types: the schemas of resource types, each loaded once;
//   - Leases (package leases): the open ephemeral resources. Receive opens the ephemeral resources that a declaration
//     uses;
//   - Conditions: evaluates preconditions, postconditions, validations, checks, and values that no other declaration
//     uses. Checks has the results;
//   - Results: the results of functions, which must not change between plan and apply;
//   - Tools, ToolsAfter, StoredUse: package object's tools for one object;
//   - Account: checks at the end of a walk that each failure was reported (ADR 41).
//
// The registrar (guard.go) registers the ephemeral values of variables and of arguments of provider functions as
// secrets when they are evaluated. Diagnostics go to the Bag of the Run, or to a bag that the caller passes. For data
// sources in a check block, ScopedData makes a copy of the Run with a separate bag, whose errors become warnings. All
// copies share the other parts. If a shared part such as a session fails, it reports its failure to each job that needs
// it.
package run
