// Package jsontext reads and writes JSON text for which package encoding/json is too slow or lacks a feature: states,
// objects of providers, and documents of many megabytes.
//
// Scanner reads by position, checks all text that it passes, and returns values as slices of the input, without copying
// or decoding them. The caller decodes them. Writer writes in the order of its calls, or writes Go structs by their
// json tags, one element of a long list after the other. Its output is indented or has no white space. Strings are
// escaped as by encoding/json, unless the caller sets another function.
package jsontext
