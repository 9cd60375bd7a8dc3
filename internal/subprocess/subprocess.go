// Package subprocess starts programs so that they can be ended together with their child processes. On systems that
// support it, they end when this process dies.
//
// A program runs in a separate session. It has no terminal to ask questions at. Its child processes are in its process
// group unless they leave the group deliberately. Programs in the user's configuration may ask questions, so they can
// share Lethe's terminal (OnTerminal, Family). On Linux, the kernel kills a program when this process dies, because the
// program may hold secrets of the configuration.
package subprocess
