// Command release makes a release of Lethe:
//
//   - a static program for each platform, in an archive with its manual pages and completions;
//   - Debian and RPM packages;
//   - a software bill of materials for each program;
//   - the checksums of all these files, and their signature.
//
// Two releases from the same commit with the same version of Go have the same bytes, except for the signature.
//
//	go run . -version 1.2.3 -out dist
//
// LETHE_SIGNING_KEY contains the OpenPGP private key that signs the release, in ASCII armor as "gpg --armor
// --export-secret-keys" prints it. LETHE_SIGNING_PASSPHRASE contains its passphrase. Without a key the release is not
// signed.
//
// The time in archives is SOURCE_DATE_EPOCH, or else the time of the commit.
package main
