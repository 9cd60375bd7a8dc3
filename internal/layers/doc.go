// Package layers tests the structure of the repository, and the comments and documents that describe it.
//
// Packages are in layers. A package may import the packages before it in its own layer, and all packages in lower
// layers. Some packages have inner packages in layers, too: an inner package may import inner packages of lower layers
// only. No two files of a package depend on each other. Other tests limit the sizes of types and packages, the packages
// that may use some external dependencies, and the packages that may read answers of providers. Each rule has a reason.
package layers
