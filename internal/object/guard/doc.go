// Package guard calls providers and checks their answers before the rest of the engine can read them (invariants I10
// and I11).
//
// A call (Provider.Plan, Provider.Read, ...) returns an Answer. Other packages cannot read an Answer. Guard.Admit
// checks the answer against the protocol, against Terms from the caller, and against the secrets of the run. It returns
// the parts that may be used and stored (Admitted). Terms describe the permitted contents of an answer: for example the
// configuration, the prior object and the planned object. The answer to Provider.Validate has only diagnostics, so
// Validate returns these without a check.
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
//	guard.go     the data that the checks of one walk share, and the second search for secrets at its end
//	pieces.go    which pieces of a secret text, such as the password in a URL, are secrets themselves
//	subject.go   the object that an answer is about: messages, encodings, entries
//	process.go   the process of the provider that is called
//	type.go      the schema of a type
//	wire.go      encoded objects
//
// Marks (sensitive, ephemeral) show which values of the configuration are secret. A provider loses them: a computed
// attribute in an answer has no mark, even if it contains a secret. So this package registers each secret that is sent
// to a provider, and each secret that an ephemeral resource returns. It searches for these secrets in the object, the
// private data and the identity of each answer that the state may store. A secret is permitted if the configuration of
// the object, outside of write-only arguments, contains the same text, or if the prior object has it at the same path.
package guard
