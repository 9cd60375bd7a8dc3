// Package keeper runs a second process between the engine and its providers. If the engine dies, the keeper closes
// leases and records changes.
//
// The keeper is this program again, started with the name Argument. It starts the providers, and makes every call of
// the engine that changes, opens, renews or closes something. It passes the answers on unchanged. For all other calls
// the engine has a separate connection. So the keeper sees each such answer before the engine does. Only the keeper's
// memory contains the open leases and the private data that closes them, and it contains each change until the engine
// has recorded it.
//
// If the engine ends without a goodbye (kill -9, out of memory), the keeper waits for the calls that change something.
// It records each change that is not recorded in the journal of the run, closes every lease, the last one first, and
// records that. Then it ends the providers and itself. Meanwhile it holds the journal (journal.Held), and the next
// command waits.
//
// The two processes talk over a socket pair without a name. From the bottom up:
//
//	link.go       frames
//	book.go       the open leases, by the calls that pass
//	recovered.go  records for an engine that crashed
//	hand.go       the transfer of the journal into the store of the state
//	serve.go      Serve: the keeper's side
//	peer.go       the engine's side of one process
//	stream.go     the same, for calls with a stream of answers
//	keeper.go     Keeper: the engine's side, for whichever process runs
//	spawn_*.go    Spawn, and Main, the main function of a keeper
//
// A Keeper starts programs for launch.Processes. Workspaces inform it about their journals. Arguments, variables and
// files contain no secret. Where the system supports it, other processes of the user cannot read the keeper's memory,
// and a crash leaves no core file.
package keeper
