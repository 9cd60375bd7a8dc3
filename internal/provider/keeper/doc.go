// Package keeper is a second process that stands between the engine and its providers, so that nothing stays open
// and nothing is lost when the engine is.
//
// It is this program again, started with the name Argument. It starts the providers, makes every call of the engine
// that changes, opens, renews or closes something, and hands the answers on as they came; for all others the engine has
// a connection of its own. So each such answer is here before the engine has it: what was
// opened, and the private data that closes it, stand in the keeper's memory, and nowhere else; what was changed stands
// there until the engine says that it is recorded. When the engine ends without a word (kill -9, out of memory), calls that
// change something come to their end, each that is not recorded is recorded in the journal of the run, every lease is
// closed, the last one first, and recorded as over, the providers are ended, and then the keeper. While it does that the
// journal is held (journal.Held), and the next command waits.
//
// The two talk over a socket pair that has no name. From the bottom up:
//
//	link.go     frames
//	book.go     which leases are open, by the calls that pass
//	late.go     what is recorded for an engine that was lost
//	hand.go     how that gets into the store of the state
//	serve.go    Serve: the keeper's side
//	peer.go     the engine's side of one process
//	keeper.go   Keeper: the engine's side, whichever process there is
//	spawn_*.go  Spawn, and Main, which is a keeper's process
//
// A Keeper starts programs for launch.Processes; workspaces tell it of their journals. Nothing secret is in arguments,
// variables or files, and where the system can see to that, the keeper's memory cannot be read by other processes of the
// user, nor is there an image of it after a crash.
package keeper
