// Package archive unpacks downloaded archives: zip files and tar streams, plain or compressed with gzip, bzip2 or xz.
// Zip files that have only regular files and directories can be unpacked while they arrive (stream.go).
//
// Archives are untrusted data. Entries are unpacked only below the given directory. These are errors:
//
//   - a name outside the directory
//   - a device or a hard link
//   - the same file twice
//   - too many entries or too many bytes
//   - contents of more than a hundred times the size of the archive
//
// A symbolic link is an error, too, if Options.Links is nil. Otherwise links to targets inside the directory are
// created, and other links are left out. Of the mode of a file, only the permission to execute is kept. After an error,
// the directory has its former content.
package archive
