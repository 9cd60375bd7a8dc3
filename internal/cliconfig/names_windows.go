package cliconfig

// homeVariable is the variable with the directory of the CLI configuration files. userDirName is the name of the
// directory in it that has local providers and credentials helpers.
const (
	homeVariable = "APPDATA"
	userDirName  = "terraform.d"
	executable   = ".exe" // the suffix of the name of a program
)

// names are the names of the CLI configuration files. The first existing file counts.
var names = []string{"tofu.rc", "terraform.rc"}
