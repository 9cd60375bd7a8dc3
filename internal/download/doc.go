// Package download fetches small answers and large files over HTTP from servers that are not trusted.
//
// A request is repeated if the server is overloaded or the connection breaks. The download of a file continues at the
// position of the break. A transfer without progress ends after a time limit. An answer that exceeds the caller's limit
// is an error. A redirect from https must lead to https. Credentials are looked up again for the host of a redirect,
// and are not forwarded to another host. Messages contain addresses without user, password and query.
package download
