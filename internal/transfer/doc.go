// Package transfer moves objects between two states (ADR 57). It computes the states after the move, and the record
// with which a later command can finish an interrupted transfer. It does not read or write files. The source is the
// state that loses the objects, and the target the state that gets them.
//
//	move.go    Plan: the objects, their addresses in the target, both states after the move
//	record.go  Record: the transfer journal, and the decision whether the target was written
package transfer
