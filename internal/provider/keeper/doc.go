// Package keeper is a second process that stands between the engine and its providers, so that nothing stays open
// when the engine is lost.
//
// It is this program again, started with the name Argument. It starts the providers, makes every call that the
// engine asks for, and hands the answers on as they came. So each answer is here before the engine has it: what was
// opened, and the private data that closes it, stand in the keeper's memory, and nowhere else. When the engine ends
// without a word (kill -9, out of memory), calls that change something come to their end, every lease is closed, the
// last one first, the providers are ended, and then the keeper.
//
// The two talk over a socket pair that has no name (link.go): the engine's side of it is a Keeper (engine.go), which
// starts programs for launch.Processes; the other is Serve (serve.go), with the leases in book.go. Nothing
// secret is in arguments, variables or files, and the keeper's memory cannot be read by other processes of the user,
// nor is there an image of it after a crash.
package keeper
