// Package subprocess starts programs so that they can be ended with all they started, and do not
// outlive us where the system can see to that.
//
// A program gets a session of its own: it has no terminal to ask questions at, and what it starts
// is in its process group unless it leaves it on purpose. Programs that users wrote into their
// configuration to ask questions are an exception: they share our terminal (OnTerminal, Family). On Linux the kernel kills it when we
// die, because a program holds what its configuration gave it.
package subprocess
