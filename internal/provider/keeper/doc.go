// Package keeper runs a second process, the keeper, between the engine and its providers. If the engine dies, the
// keeper closes the open leases and records the changes of objects.
//
// The keeper is the same program, started with the argument Argument. It starts the providers, and makes each call of
// the engine that changes, opens, renews or closes something. It passes the answers on unchanged. For all other calls,
// the engine has a separate connection to the provider, if the provider permits it. So the keeper receives the answer
// to each such changing call before the engine does. The open leases, and the private data that closes them, are only
// in the memory of the processes. The keeper also has the answer to each change until the engine has recorded it.
//
// If the engine ends without announcing its end to the keeper (kill -9, out of memory), the keeper waits for the
// running calls that change something. It records each unrecorded change in the journal of the run, closes every lease,
// the last opened first, and records this. Then it ends the providers and itself. Meanwhile it holds the lock of the
// journal (journal.Held), so the next command waits.
//
// The two processes communicate over a socket pair without a name, on Windows over two pipes. A message between them is
// a frame: a length, a kind, a number and content. From the bottom up:
//
//	link.go       frames
//	book.go       the open leases, found in the calls
//	recovered.go  the ledger: data for journal records after a crash of the engine
//	hand.go       the transfer of the journal into the store of the state
//	serve.go      Serve: the keeper's side
//	peer.go       the engine's side of one keeper process
//	stream.go     the engine's side of a call with a stream of answers
//	keeper.go     Keeper: the engine's side; it starts keeper processes
//	spawn_*.go    Spawn, and Main, the main function of a keeper
//
// A Keeper starts programs for launch.Processes. Workspaces inform it about their journals. Arguments, environment
// variables and files of the keeper contain no secret. If the system supports it, other processes of the user cannot
// read the keeper's memory, and a crash writes no core file.
package keeper
