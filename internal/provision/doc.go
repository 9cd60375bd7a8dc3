// Package provision runs the provisioners local-exec, remote-exec and file, with the SSH connections of the latter two.
//
// It receives the evaluated configuration of one provisioner, with its marks, and executes it. The engine decides when
// provisioners run and how their failure affects the object. Run returns diagnostics; the output of the program is
// passed to Request.Output line by line.
//
// Secrets. The marks (sensitive, ephemeral) of a configuration decide which texts may be shown (see redaction). If an
// argument is sensitive or ephemeral, each line of output is replaced by a notice. Messages about failures then contain
// the exit status, but no part of the command, of paths or of the output. Messages never contain keys and passwords.
// Contents and scripts are sent while they are read, without local temporary files. A script on a remote host has mode
// 0700 before its first byte is written. Lethe removes it after its run, also after an interrupt.
//
// Paths and commands. Programs are started with argument lists. Words of remote command lines are quoted (see quote).
// Contents never pass through a shell. Control characters from a remote program or server are passed on, and the view
// escapes them.
//
// The arguments, their names and their defaults are the same as in Terraform and OpenTofu. Titles and texts that tools
// may match are the same, too. WinRM is not supported.
package provision
