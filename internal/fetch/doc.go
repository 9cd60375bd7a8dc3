// Package fetch installs the providers and modules of a configuration, and maintains the lock file.
//
// Sources (methods.go, source.go) determines where providers come from: development overrides, mirror directories,
// network mirrors, OCI registries, and the registries in their addresses. Install (install.go) chooses a version. The
// functions in deliver.go install its package in .terraform, through the user's store (store.go) and the plugin cache.
// A downloader (download.go) downloads packages. Link (link.go) installs without contacting a server. Sum and Copy
// (copies.go) handle packages for other platforms. The dependency lock file (lockfile.go) holds the selected versions
// and their hashes (pack.go); selected.go finds the selected packages. A record holds the files that were verified
// (checked.go). Progress (progress.go) reports the steps of an installation.
//
// Modules come from local paths, registries, git repositories (git.go), archives, OCI registries and objects in clouds
// (modulepackage.go). installer.go installs the module of a call. address.go parses source arguments. modules.go
// maintains the list of installed modules, in the format that other tools read. modulelock.go compares module packages
// (summary.go) with the lock file. modulestore.go stores them: in the user's cache, and in directories that Vendor
// fills.
//
// The files form layers. Each file uses only files after it in this list:
//
//   - for modules: installer.go, modulepackage.go, modulelock.go, git.go
//   - for providers: copies.go, install.go, link.go, deliver.go, selected.go, store.go, providers.go, checked.go,
//     download.go, progress.go, methods.go, source.go
//   - for both: modulestore.go, lockfile.go, modules.go, address.go, pack.go, summary.go, layout.go
//
// A path from a configuration or an archive cannot lead out of its directory. Archives are unpacked with limits for
// their size.
package fetch
