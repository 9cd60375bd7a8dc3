// Package layers holds the rules about which room may import which; its test reads the code's
// imports and compares.
//
// A room imports its own layer's left neighbours and anything below, never above. Some
// dependencies from outside are bound to few rooms: each rule says why. Inside of a package the files
// stand in layers, too: none uses one above it.
package layers
