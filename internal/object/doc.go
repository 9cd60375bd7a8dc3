// Package object makes the provider calls about one object, and converts the answers to values and to entries for the
// state (state.Entry). The caller records the entries.
//
// Each step of the life of an object is a method of Tools, which holds the address of the object, its provider and its
// type. Package engine chooses the order of the steps. "Known" in this table is the type of an encoded value:
//
//	step           method                      inputs                          results
//	upgrade        Upgrade, Move               the stored entry                the entry in the current schema, and its value (Known)
//	refresh        Read                        an entry                        the current entry, or nil if the object no longer exists
//	import         Import, Existing            an id or identity               the entry that was found, or its value
//	plan           Propose, then Plan          Current, the configuration,     a Proposal (the provider's plan), and from it
//	                                           Forced                          a plan.Change: action, reason, values, replace paths
//	plan of a down PlanDown                    Current                         a plan.Change that deletes
//	apply          Up                          a Proposal, the prior entry,    the entry to record, even if the call failed
//	                                           Stored
//	               Same                        a Proposal without a change     the entry with new sensitive paths
//	               Down                        Current                         the remaining entry, or nil
//	again          Approved, Settled, Within   the approved change             its Proposal without a call, or whether a new Proposal agrees
//	data           ReadData, StoredData        the configuration               the value, and the entry to record
//	ephemeral      Open, Closed                the configuration               the value, which is ephemeral as a whole
//	check          Validate, Objections        the configuration               only diagnostics
//
// Most steps return false after an error, or if the walk (the run of the plan or the apply) was cancelled. Steps with a
// plan.Outcome return the outcome Failed instead. Errors are in Tools.Bag, with the address of the object and the path
// of the attribute. If Up, Down or Read returns an entry, the caller must record it, even if the step returns false: an
// object that a provider created exists, whether or not the provider's answer was correct.
//
// Package guard, below this package, makes the calls and checks each answer against the schema, the configuration, the
// plan and the secrets of the run (invariants I10 and I11). A checked answer is called admitted. The steps build
// requests, describe the permitted answers (guard.Terms), and convert admitted answers to values and entries. Functions
// that several steps share are in wire.go and object.go. Of the files data.go, apply.go, plan.go, refresh.go, wire.go
// and object.go, each uses only files later in this list.
//
// Other packages have the order of the steps (plan, walk), the evaluation of configurations (lang), the start of
// providers (engine) and the durable record of changes (state/journal).
package object
