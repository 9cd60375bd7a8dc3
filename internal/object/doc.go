// Package object is the life of one object: what is sent to its provider, and how the answer is checked
// and recorded.
//
// The steps are methods of Tools, which holds the object, its provider and its type. The engine says
// which comes when; that depends on the mode of the resource, and is in the engine:
//
//	step           method                      takes                           gives
//	upgrade        Upgrade, Move               the entry as stored             the entry in the present schema, and its value (Known)
//	refresh        Read                        an entry                        the entry as it is now, or nil where the object is gone
//	import         Import, Existing            an id or identity               the entry that was found, or its value
//	plan           Propose, then Plan          Current, the configuration,     a Proposal (what the provider plans), and of it
//	                                           what is Forced                  a plan.Change: action, reason, values, replace paths
//	plan of a down PlanDown                    Current                         a plan.Change that deletes
//	apply          Up                          the change, its Proposal,       the entry to record, also when the call failed
//	                                           what is Stored beside it
//	               Same                        a Proposal without a change     the entry with what only its record changes
//	               Down                        Current                         what is left: nil, or the entry
//	again          Approved, Settled, Within   the approved change             its Proposal without asking, or whether a new one keeps to it
//	data           ReadData, StoredData        the configuration               the value, and the entry to record
//	ephemeral      Open, Closed                the configuration               the value, marked ephemeral throughout
//	check          Validate, Objections        the configuration               nothing but diagnostics
//
// Each of them reports what is wrong to Tools.Bag, with type, address and path, and says with its last
// result whether all is well. An entry that comes back is to be recorded in either case: what a
// provider made exists, whether or not its answer was right.
//
// What a provider answers is held against the schema, the configuration and the plan before it is
// used (invariant I10), and against the secrets of this run before it is kept (guard.go). Below the
// steps are functions that take the same Tools: those of one step stand in its file, those about
// encoded objects in wire.go, about identities in identity.go, refresh.go and wire.go. Files stand in layers, each above
// those that it uses: data.go, apply.go, plan.go, refresh.go, guard.go, wire.go, object.go.
//
// What is not here: order (plan, walk), evaluation (lang), sessions of providers (engine), durability
// (state/journal).
package object
