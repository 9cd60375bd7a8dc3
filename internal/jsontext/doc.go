// Package jsontext reads and writes JSON text where package encoding/json costs too much or does not say
// enough: states, objects of providers, and documents of many megabytes.
//
// Scanner reads by position, checks all that it passes, and hands out values that are not to be understood
// as slices of the input: nothing is copied, nothing is decoded. What a value is decoded into is for
// the caller. Writer writes in the order of its calls, or goes over Go structs by their json tags, one element
// of a long list after the other; the text is laid out or without white space, and strings are
// spelled as encoding/json spells them, unless the caller has an own way.
package jsontext
