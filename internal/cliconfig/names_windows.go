package cliconfig

// homeVariable names the directory of the CLI configuration files, and userDirName the directory in it for local
// providers and credentials helpers.
const (
	homeVariable = "APPDATA"
	userDirName  = "terraform.d"
	executable   = ".exe" // ends the name of a program
)

// names are the names of the CLI configuration files. The first existing file counts.
var names = []string{"tofu.rc", "terraform.rc"}
