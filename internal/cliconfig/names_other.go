//go:build !windows

package cliconfig

// homeVariable names the directory of the CLI configuration files, and userDirName the directory in it for local
// providers and credentials helpers.
const (
	homeVariable = "HOME"
	userDirName  = ".terraform.d"
	executable   = "" // ends the name of a program
)

// names are the names of the CLI configuration files. The first existing file counts.
var names = []string{".tofurc", ".terraformrc"}
