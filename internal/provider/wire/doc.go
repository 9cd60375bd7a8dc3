// Package wire speaks the provider protocol: one client for its majors 5 and 6.
//
// Client returns a provider.Provider for a connection. The two majors have the same messages except for a few numbers
// (see wirepb), and other names. So there is one set of generated messages, one implementation of each call, and a
// table of method names. Values pass through as bytes: only diagnostics, paths and schemas are decoded here, and a
// schema only when a caller asks for it (index.go finds schemas in the answer, decode.go reads them).
//
// A failed call is a diagnostic like the provider's own. It names the provider and the call, and tells whether the
// process died, did not know the call, sent too much or sent an invalid message (fault.go).
//
// The package does not start processes: package launch does, and passes the connection. Only the packages below
// provider know gRPC, and only this one knows the messages of the protocol (invariant I3).
package wire
