// Package layers tests the structure of the repository, and the comments and documents that describe the structure.
//
// The table layers in layers_test.go lists the packages of the module in layers. A package may import all packages of
// lower layers, and the packages that precede it in its own layer.
//
// The table innerLayers orders the packages below one package, for example engine/planning below engine, with engine
// itself. In this table a package may import only packages of lower layers. The tables do not restrict a package that
// they do not list.
//
// The dependencies between the files of a package have no cycle. The test of this rule ignores test files, and package
// convert, which is exempt.
//
// Other tests limit the sizes of types and packages, the packages that may use some external libraries, and the
// packages that may read answers of providers. Each rule has its reason beside it.
package layers
