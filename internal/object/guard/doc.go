// Package guard is the stage between a provider's answer and the rest of the engine (invariants I10 and I11).
//
// A call (Provider.Plan, Provider.Read, ...) returns an Answer. Other packages cannot read an Answer. Guard.Admit
// checks it against the protocol, against its Terms, and against the secrets of the run, and returns the parts that may
// be used and stored (Admitted). Terms describe the permitted contents: the object's configuration, its prior object,
// the planned object.
//
//	file         contents
//	provider.go  the calls
//	admit.go     Admit
//	calls.go     the checks of each call, in their order
//	checks.go    the rules of the protocol, one function each
//	identity.go  the rules about identities
//	answer.go    Answer, Terms, Admitted
//	look.go      the search for secrets, and which texts an object may contain although they are secret elsewhere
//	register.go  which values are registered as secrets
//	guard.go     the state that the checks of one walk share, and the second look at its end
//	pieces.go    which pieces of a secret text are secrets themselves
//	subject.go   the object that an answer is about: messages, encodings, entries
//	process.go   the process that is called
//	type.go      the schema of a type
//	wire.go      encoded objects
//
// Marks show which values of the configuration are secret. They end at the provider: a computed attribute in an answer
// has no mark, even if it contains a secret. So the guard registers each secret when it is sent to a provider, and
// searches for the secrets in all parts of an answer except the configured values.
package guard
