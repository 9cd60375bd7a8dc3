// Command release makes a release of Lethe:
//
//   - a static program for each platform, in an archive with its manual pages and completions;
//   - Debian and RPM packages;
//   - a software bill of materials for each program;
//   - the checksums of all these files.
//
// Two releases from the same commit with the same version of Go have the same bytes.
//
//	go run . -version 1.2.3 -out dist
//
// The time in archives is SOURCE_DATE_EPOCH, or else the time of the commit.
package main
