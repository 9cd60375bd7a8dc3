// Package wire implements the client of the provider protocol, for the major versions 5 and 6.
//
// Client returns a provider.Provider for a connection. The two major versions have the same messages, except for a few
// field numbers (see wirepb), and different names of calls. So the package has one set of generated messages, one
// implementation of each call, and a table of method names. Values stay encoded. The package decodes only the other
// fields of an answer, such as diagnostics and paths, and the schema of a type only when a caller needs it: index.go
// finds schemas in the answer, and decode.go decodes them.
//
// A failed call returns a diagnostic, which names the provider and the call. The diagnostic explains whether the
// process died, did not know the call, sent too much data or sent an invalid message (fault.go).
//
// The package does not start processes: package launch starts them, and passes the connection to Client. Only the
// packages below provider use gRPC, and only this package and its subpackages use the messages of the protocol
// (invariant I3 of the architecture).
package wire
