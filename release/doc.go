// Command release makes what a release of Lethe consists of: a static program for each platform, in an archive with its
// manual pages and completions, Debian and RPM packages, a software bill of materials for each program, and the checksums
// of all that. Made twice from the same commit with the same version of Go, all files have the same bytes.
//
//	go run . -version 1.2.3 -out dist
//
// The time that stands in archives is that of SOURCE_DATE_EPOCH, or else that of the commit.
package main
