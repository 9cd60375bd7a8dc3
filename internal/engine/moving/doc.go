// Package moving finds out where the objects of a state are now that the configuration is another one: by
// moved blocks, and by the moves that adding or removing count or enabled implies.
//
// Make works on a program and a state, before anything is evaluated. What is wrong with moved blocks
// is known only later, when it is known what is declared: CheckLeft and Faults are asked then.
package moving
