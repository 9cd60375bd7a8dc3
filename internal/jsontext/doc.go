// Package jsontext reads and writes JSON text for which package encoding/json is too slow or lacks a feature: states,
// objects of providers, and documents of many megabytes.
//
// Scanner reads by position, and checks the syntax of all text that it passes. Raw and Quoted return a value as a slice
// of the input, and the caller decodes it. Str copies a string only if the string has escapes. Boolean and Uint decode
// their values.
//
// Writer writes values in the order of its calls. Its method Value writes a Go value by its json tags. A long list can
// be an iter.Seq, so that only one element is in memory at a time. The output is indented, or has no white space if
// Writer.Compact is true. Strings are escaped as by encoding/json (also <, > and &), unless Writer.Quote is set.
package jsontext
