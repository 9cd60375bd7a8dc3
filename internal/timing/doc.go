// Package timing records the steps of a command with their times, and computes the reasons for its duration.
//
// A Recorder receives the events of the engine. Finish makes a Run of them: rows with spans for the work on each
// object, the times while ephemeral resources were open, the starts of providers, and facts that follow from these
// times. Package view/timeline draws a Run as a page, and package timing/otlp sends it to a collector. A Run contains
// addresses of objects, and no values of attributes.
//
//	model.go     Run and its parts
//	chain.go     the longest chain of calls, and the bound that it sets
//	facts.go     time per type, and concurrency
//	recorder.go  Recorder
package timing
