// Package download gets small answers and large files over HTTP, as far as other people's servers can
// be trusted with a working directory.
//
// A request is repeated when the server is overloaded or the connection is cut; a file goes on where it
// stopped. A transfer without progress ends after a while, and no answer grows beyond what its caller
// allows. A redirect leads from https to https only, and credentials are asked for anew for the host
// that it names: none follows to another. Messages name addresses without user, password and query.
package download
