// Package lockfile reads and writes the dependency lock file, .terraform.lock.hcl.
//
// The file contains an entry for each provider, in the format of Terraform and OpenTofu (providers.go), and an entry
// for each module package, in comments that only Lethe reads (modules.go). The package converts entries to and from
// text. It does not read or write files, and does not verify checksums: package fetch does.
//
// For equal entries the text is equal, byte for byte. The functions keep no state, so several goroutines may call them.
package lockfile
