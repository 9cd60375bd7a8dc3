// Package lockfile reads and writes the dependency lock file, .terraform.lock.hcl.
//
// The file contains an entry for each provider, in the format of Terraform and OpenTofu (providers.go), and an entry
// for each module package, in comments that only Lethe reads (modules.go). This package converts entries to and from
// text. Package fetch reads and writes the file, and verifies checksums.
//
// For equal entries the text is equal, byte for byte. The functions have no common state, so several goroutines may
// call them.
package lockfile
