// Package subprocess starts programs so that Lethe can end them together with their child processes. On systems that
// support it, the programs end when Lethe's process ends.
//
// A program runs in a separate session, without a terminal at which it could ask questions. Its child processes are in
// its process group unless they leave the group deliberately. Programs in the user's configuration may ask questions,
// so they can share Lethe's terminal (OnTerminal, Family). On Linux, the kernel kills a program when Lethe's process
// ends, because the program may hold secrets of the configuration.
package subprocess
