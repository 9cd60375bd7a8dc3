// Package fetch brings what a configuration needs onto the disk: providers and modules, and keeps
// the lock file.
//
// Providers come from sources (source.go, methods.go): development overrides, directories that are mirrors, network
// mirrors, OCI registries, and the registries that their addresses name. Install (install.go)
// chooses a version, and deliver.go puts its package into .terraform, through the user's store (store.go) and the
// plugin cache. Link (link.go) does so without asking any server. Sum and Copy (copies.go) are about packages for
// other platforms. What was chosen is in the dependency lock file (lockfile.go) with hashes (pack.go), and found
// there (selected.go); which files were held against them is remembered (checked.go).
//
// Modules come from local paths, registries, git repositories (git.go), archives, OCI registries and objects in clouds
// (modulepackage.go); installer.go has one installed for a call; address.go reads what a source argument says, and
// modules.go keeps the list of those that are installed, in the layout that other tools read. modulelock.go holds their
// packages (summary.go) against the lock file, and modulestore.go keeps them: in the user's cache, and in directories
// that Vendor fills.
//
// Files stand in layers, each above those that it uses: installer.go, modulepackage.go, modulelock.go, git.go for
// modules; copies.go, install.go, link.go, deliver.go, selected.go, store.go, methods.go, providers.go, source.go
// for providers; modulestore.go, lockfile.go, modules.go, address.go, pack.go, summary.go, layout.go for both.
//
// Every path that comes from a configuration or an archive is kept inside the directory it belongs
// to; archives are unpacked under limits.
package fetch
