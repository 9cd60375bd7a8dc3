// Package layers tests the order of packages and files, and the comments and documents that describe it.
//
// Packages are in layers. A package may import the packages before it in its own layer, and all packages in lower
// layers. Packages inside a package, and the files of each package, are in layers, too. Only listed packages may use
// some external dependencies; each rule has a reason.
package layers
