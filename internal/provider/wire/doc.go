// Package wire speaks the provider protocol: one client for its majors 5 and 6.
//
// Client makes a provider.Provider of a connection. The two majors have the same messages but for
// a few numbers (see wirepb) and differ in names; so there is one set of generated messages, one
// implementation of each call, and a table of method names. Values pass through as the bytes they
// are: nothing is decoded here but diagnostics, paths and schemas, and of the schemas only those
// that a caller asks for, when it asks (index.go finds them in the answer, decode.go reads them).
//
// An error on the way is a diagnostic like those that the provider itself reports: it
// names the provider and the call, and says whether the process died, did not know the call, sent
// too much or sent nonsense (fault.go).
//
// The package does not start processes; package launch does, and hands the connection over. It is
// the only one that knows gRPC and protobuf (invariant I3).
package wire
