// Package archive unpacks what was downloaded: zip files and tar streams, plain or compressed with gzip or
// bzip2.
//
// An archive is other people's data. What it holds lands below the directory that the caller names, or
// nowhere: names that lead out of it, devices, hard links, links to what is outside, a file that is there
// twice, too many entries and too many bytes are errors. Modes are reduced to what a file needs to be
// read or run. Unpack leaves a whole directory or none.
package archive
