// Package archive unpacks downloaded archives: zip files and tar streams, plain or compressed with gzip, bzip2 or xz.
// Zip files of plain files can be unpacked while they arrive (stream.go).
//
// Archives are untrusted data. Entries are unpacked only below the given directory. These are errors:
//
//   - a name outside the directory
//   - a device or a hard link
//   - the same file twice
//   - too many entries or too many bytes
//   - contents of more than a hundred times the size of the archive
//
// Symbolic links are errors, too, or only links to targets outside are left out (Options.Links). Modes are reduced to
// the permissions to read and to execute. Unpack leaves a complete directory or none.
package archive
