// Package provision runs provisioners: local-exec, remote-exec and file, and the SSH connections
// that the latter two need.
//
// It is handed the evaluated configuration of one provisioner, with its marks, and does what that
// says; when provisioners run and what their failure means for the object is the engine's
// business. A run ends with diagnostics; what the program prints on its way goes line by line to
// Request.Output.
//
// Secrets. The marks of a configuration decide what may be shown (see redaction): where an argument is
// sensitive or ephemeral each line of output is replaced by one that says so, and failures give
// the exit status and no word of command, path or output. Keys and passwords are in no message in
// any case. Contents and scripts go over the wire as they are read: there are no local temporary
// files. A script on a remote host has mode 0700 from its first byte and is removed
// in any case, also when the run is interrupted.
//
// Paths and commands. Programs are started with argument lists. What a remote shell reads is
// quoted (see quote); contents never pass through a shell. Control characters that a remote
// program or server sends are passed on: the view escapes them.
//
// The arguments, their names and their defaults are those of Terraform and OpenTofu, and so are
// titles and wording of what tools may look for; WinRM is refused.
package provision
