// Package object makes the provider calls about one object and records their answers.
//
// The steps are methods of Tools, which holds the object, its provider and its type. The engine chooses their order,
// which depends on the mode of the resource:
//
//	step           method                      inputs                          results
//	upgrade        Upgrade, Move               the stored entry                the entry in the current schema, and its value (Known)
//	refresh        Read                        an entry                        the current entry, or nil if the object no longer exists
//	import         Import, Existing            an id or identity               the entry that was found, or its value
//	plan           Propose, then Plan          Current, the configuration,     a Proposal (the provider's plan), and from it
//	                                           Forced                          a plan.Change: action, reason, values, replace paths
//	plan of a down PlanDown                    Current                         a plan.Change that deletes
//	apply          Up                          the change, its Proposal,       the entry to record, even if the call failed
//	                                           Stored
//	               Same                        a Proposal without a change     the entry with new sensitive paths
//	               Down                        Current                         the remaining entry, or nil
//	again          Approved, Settled, Within   the approved change             its Proposal without a call, or whether a new one agrees with it
//	data           ReadData, StoredData        the configuration               the value, and the entry to record
//	ephemeral      Open, Closed                the configuration               the value, which is ephemeral as a whole
//	check          Validate, Objections        the configuration               only diagnostics
//
// Each step reports errors to Tools.Bag, with type, address and path, and returns false if it reported an error. If a
// step returns an entry, the caller must record it, even if the step returns false: an object that a provider created
// exists, whether or not the provider's answer was correct.
//
// Package guard makes the calls and checks the answers against the schema, the configuration, the plan and the secrets
// of the run (invariants I10 and I11). The steps build requests, describe the permitted answers (guard.Terms), and
// convert admitted answers to values and entries. Functions that several steps share are in wire.go and object.go. The
// files are layers. Each uses only files later in this list: data.go, apply.go, plan.go, refresh.go, wire.go,
// object.go.
//
// Order (plan, walk), evaluation (lang), sessions of providers (engine) and durability (state/journal) are elsewhere.
package object
