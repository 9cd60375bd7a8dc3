// Package spec is the language suite. Its cases define the meaning of the language without reference to the
// implementation.
//
// A case is a folder of configuration files, the settings of its run, and the expected result: the values of the root
// outputs, and diagnostics by severity, place and title. Cases are in cases/AREA/*.txtar, several in a file; README.md
// describes the format. Each case runs the program as a user does: init, validate, plan or apply in an empty directory,
// without network.
//
// Terraform 1.11.4 is the oracle: the same cases run on a `terraform` on PATH. If Lethe differs by intention, the case
// contains the result of Terraform and the reason. docs/differences-by-test.md lists these reasons.
//
// The package has tests only. It must not import a package of the product.
package spec
