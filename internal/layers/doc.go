// Package layers tests the structure of the repository, and the comments and documents that describe the structure.
//
// The table layers has the packages, in layers. A package may import all packages of lower layers, and the packages that
// precede it in its own layer. Some packages have inner packages, also in layers: an inner package may import inner
// packages of lower layers only. The files of a package have an order, too: no two files depend on each other. Other tests
// limit the sizes of types and packages, the packages that may use some external libraries, and the packages that may
// read answers of providers. Each rule has its reason beside it.
package layers
