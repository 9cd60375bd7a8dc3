// Package timing records the steps of a command with their times, and computes the reasons for its duration.
//
// A Recorder is a sink of events. Finish makes a Run of them: rows with spans for the visits of walks, lease windows,
// provider starts, and the facts that follow. The views (view/timeline, timing/otlp) draw a Run. It contains addresses
// and no values.
//
//	model.go     Run and its parts
//	chain.go     the longest chain of calls, and the bound that it sets
//	facts.go     time per type, and concurrency
//	recorder.go  Recorder
package timing
