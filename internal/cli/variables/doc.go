// Package variables collects the values of root variables, and evaluates expressions with them before the configuration
// is compiled into a program.
//
//	saved.go      values from a saved plan
//	tests.go      values for test files
//	ask.go        questions to the user
//	options.go    options of frames, with the values
//	variables.go  Values: files, flags, environment
package variables
