// Package fetch brings what a configuration needs onto the disk: providers and modules, and keeps
// the lock file.
//
// Providers come from directories: development overrides, file system mirrors (packed and
// unpacked, configured or implied), with the plugin cache between them and the working directory.
// Modules come from local paths. What was chosen is written down in the dependency lock file
// (.terraform.lock.hcl) with hashes, and in .terraform, in the layout that other tools read.
//
// Every path that comes from a configuration or an archive is kept inside the directory it belongs
// to; archives are unpacked under limits.
package fetch
