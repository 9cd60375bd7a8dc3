// Package cliconfig reads CLI configuration files (~/.terraformrc, ~/.tofurc and the files beside them): sources of
// providers, caches, credentials, and defaults of the command line. These settings belong to a user, not to a
// configuration. Modules cannot read them.
package cliconfig

import (
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Load reads the CLI configuration files of an environment, and adds their texts without secrets to sources. getenv
// returns the value of an environment variable. Load omits a file that cannot be opened, and calls skipped with the
// reason. The boolean is false if an error was reported.
func Load(getenv func(string) string, l limits.Limits, sources *diag.Sources, bag *diag.Bag, skipped func(file string, err error)) (*Settings, bool) {
	s, ok := &Settings{}, true
	for _, f := range Files(getenv) {
		src, err := config.ReadOne(f, l)
		if err != nil {
			skipped(f, err)
			continue
		}
		sources.Set(f, diag.Masked(src, harmless))
		ok = s.Parse(src, f, l, bag) && ok
	}
	return s, ok
}

// Files returns the paths of the CLI configuration files. If TF_CLI_CONFIG_FILE or TERRAFORM_CONFIG is set, it is the
// only file. Otherwise the result has the first existing file of the files that Terraform and OpenTofu read (see names),
// and after it the files *.tfrc and *.tfrc.json in the directory that dataDir returns, but not the file with tokens.
// getenv returns the value of an environment variable.
func Files(getenv func(string) string) []string {
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if f := getenv(name); f != "" {
			return []string{f}
		}
	}
	home := getenv(homeVariable)
	var list []string
	if home != "" {
		for _, name := range names {
			list = append(list, filepath.Join(home, name))
		}
	}
	if xdg := getenv("XDG_CONFIG_HOME"); xdg != "" {
		list = append(list, filepath.Join(xdg, "opentofu", "tofurc"))
	}
	list = slices.DeleteFunc(list, func(f string) bool { return !exists(f) })
	list = list[:min(1, len(list))]
	dir := dataDir(getenv)
	if dir == "" {
		return list
	}
	for _, pattern := range []string{"*.tfrc", "*.tfrc.json"} {
		more, _ := filepath.Glob(filepath.Join(dir, pattern))
		list = append(list, more...)
	}
	list = slices.DeleteFunc(list, func(f string) bool { return filepath.Base(f) == keptName }) // leave out the file with tokens, because Credentials reads it
	return list
}

// dataDir returns the directory with further CLI configuration files: the directory of the user (userDir), or, if that
// does not exist and XDG_CONFIG_HOME is set, the directory of OpenTofu in XDG_CONFIG_HOME. It returns "" if neither is
// known. getenv returns the value of an environment variable.
func dataDir(getenv func(string) string) string {
	dir := userDir(getenv)
	if xdg := getenv("XDG_CONFIG_HOME"); xdg != "" && (dir == "" || !exists(dir)) {
		dir = filepath.Join(xdg, "opentofu")
	}
	return dir
}

// userDir returns the directory of the user's local providers and of credentials helpers, or "" if it is not known.
func userDir(getenv func(string) string) string {
	if at := getenv(homeVariable); at != "" {
		return filepath.Join(at, userDirName)
	}
	return ""
}

const keptName = "credentials.tfrc.json"
