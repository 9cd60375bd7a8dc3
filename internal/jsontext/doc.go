// Package jsontext reads and writes JSON text for which package encoding/json is too slow or lacks a feature: states,
// objects of providers, and documents of many megabytes.
//
// Scanner reads by position, and checks the syntax of all text over which it moves. It does not check that strings are
// valid UTF-8. Raw and Quoted return a value as a slice of the input, which the caller decodes. Str copies a string
// only if the string has escapes. Boolean and Uint decode their values.
//
// Writer writes values in the order of the calls of its methods. Value writes a Go value by its json tags. A long list
// can be an iter.Seq, so that only one element is in memory at a time. The output is indented, or has no white space if
// Writer.Compact is true. Strings are escaped as package encoding/json does it (also <, > and &), unless Writer.Quote
// is set.
package jsontext
