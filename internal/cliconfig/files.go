// Package cliconfig reads CLI configuration files (~/.terraformrc, ~/.tofurc and what stands beside
// them): where providers come from, caches, credentials, and defaults of the command line. They
// belong to a user and not to a configuration, and modules never see them.
package cliconfig

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Load reads all files that count in an environment and keeps their texts in sources. A file that
// cannot be opened is left out, and handed to skipped with the reason; false says that a file has
// mistakes, which are in the bag.
func Load(getenv func(string) string, l limits.Limits, sources *diag.Sources, bag *diag.Bag, skipped func(file string, err error)) (*Settings, bool) {
	s, ok := &Settings{}, true
	for _, f := range files(getenv) {
		src, err := config.ReadOne(f, l)
		if err != nil {
			skipped(f, err)
			continue
		}
		sources.Set(f, src)
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
	home, dir, dataName, names := getenv("HOME"), "", ".terraform.d", []string{".tofurc", ".terraformrc"}
	if runtime.GOOS == "windows" {
		home, dataName, names = getenv("APPDATA"), "terraform.d", []string{"tofu.rc", "terraform.rc"}
	}
	var list []string
	if home != "" {
		for _, name := range names {
			list = append(list, filepath.Join(home, name))
		}
		dir = filepath.Join(home, dataName)
	}
	if xdg := getenv("XDG_CONFIG_HOME"); xdg != "" {
		list = append(list, filepath.Join(xdg, "opentofu", "tofurc"))
		if dir == "" || !exists(dir) {
			dir = filepath.Join(xdg, "opentofu")
		}
	}
	list = slices.DeleteFunc(list, func(f string) bool { return !exists(f) })
	list = list[:min(1, len(list))]
	if dir == "" {
		return list
	}
	for _, pattern := range []string{"*.tfrc", "*.tfrc.json"} {
		more, _ := filepath.Glob(filepath.Join(dir, pattern))
		list = append(list, more...)
	}
	return list
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
