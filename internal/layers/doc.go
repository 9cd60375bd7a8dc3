// Package layers tests the structure of the repository, and the comments and documents that describe the structure.
//
// The table layers has the packages, in layers. A package may import all packages of lower layers, and the packages
// that precede it in its own layer.
//
// The table innerLayers does the same for the packages in the folder of some packages, for example engine/planning in
// engine. The outer package is in the table, too. Here a package may import only packages of lower layers. A package
// that is not in the table is not restricted.
//
// The files of a package have an order, too: the dependencies between files have no cycle, except in package convert.
// Test files do not count.
//
// Other tests limit the sizes of types and packages, the packages that may use some external libraries, and the
// packages that may read answers of providers. Each rule has its reason beside it.
package layers
