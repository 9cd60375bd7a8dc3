// Package archive unpacks what was downloaded: zip files and tar streams, plain or compressed with gzip or
// bzip2; zip files of plain files also while they arrive (stream.go).
//
// An archive is other people's data. What it holds lands below the directory that the caller names, or
// nowhere: names that lead out of it, devices, hard links, links to what is outside, a file that is there
// twice, too many entries, too many bytes, and a hundred times the bytes of the archive are errors. Modes are reduced to what a file needs to be
// read or run. Unpack leaves a whole directory or none.
package archive
