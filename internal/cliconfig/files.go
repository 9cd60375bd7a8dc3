// Package cliconfig reads CLI configuration files (~/.terraformrc, ~/.tofurc and what stands beside
// them): where providers come from, caches, credentials, and defaults of the command line. They
// belong to a user and not to a configuration, and modules never see them.
package cliconfig

import (
	"path/filepath"
	"runtime"
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Load reads all files that count in an environment and keeps their texts, without what may be secret, in sources. A
// file that cannot be opened is left out, and handed to skipped with the reason; false says that a file has mistakes,
// which are in the bag.
func Load(getenv func(string) string, l limits.Limits, sources *diag.Sources, bag *diag.Bag, skipped func(file string, err error)) (*Settings, bool) {
	s, ok := &Settings{}, true
	for _, f := range files(getenv) {
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

// files are the file that TF_CLI_CONFIG_FILE names; without it, the first of those that Terraform and
// OpenTofu look for, and all in the directory beside it.
func files(getenv func(string) string) []string {
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"} {
		if f := getenv(name); f != "" {
			return []string{f}
		}
	}
	home, names := getenv("HOME"), []string{".tofurc", ".terraformrc"}
	if runtime.GOOS == "windows" {
		home, names = getenv("APPDATA"), []string{"tofu.rc", "terraform.rc"}
	}
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
	list = slices.DeleteFunc(list, func(f string) bool { return filepath.Base(f) == keptName }) // see Credentials
	return list
}

// dataDir is the directory beside the CLI configuration files; "" where there is no place for one.
func dataDir(getenv func(string) string) string {
	dir := ""
	if home := getenv("HOME"); home != "" {
		dir = filepath.Join(home, ".terraform.d")
	}
	if runtime.GOOS == "windows" && getenv("APPDATA") != "" {
		dir = filepath.Join(getenv("APPDATA"), "terraform.d")
	}
	if xdg := getenv("XDG_CONFIG_HOME"); xdg != "" && (dir == "" || !exists(dir)) {
		dir = filepath.Join(xdg, "opentofu")
	}
	return dir
}

const keptName = "credentials.tfrc.json"
