// Package spec is the language suite: what the language means, said in cases that know nothing of
// how it is implemented.
//
// A case is a folder of configuration files, how to run them, and what must come out: the values of
// the root outputs, and diagnostics by severity, place and title. Cases stand in cases/AREA/*.txtar,
// several in a file; README.md has the format. Each runs through the binary, as a user would: init,
// validate, plan or apply in an empty directory, without network.
//
// Terraform 1.11.4 is the oracle: the same cases run on a `terraform` on PATH. Where the product means
// to differ the case says what the peer does and why we do not; the list in docs/differences.md is made of these.
//
// The package has tests only. It imports no package of the product, and must not.
package spec
