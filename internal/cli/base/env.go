package base

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// FS returns the file system in which a command stores its files.
func (e *Env) FS() disk.FS {
	if e.Files != nil {
		return e.Files
	}
	return disk.OS
}

// Getenv returns the value of an environment variable, or "" if it is not set.
func (e *Env) Getenv(name string) string { return subprocess.Getenv(e.Environ, name) }

// Path returns the absolute path of a flag's value. Relative paths start at the working directory. "" stays "".
func (e *Env) Path(p string) string {
	return paths.In(e.Dir, p)
}

// Settle sets Dir and Start to the real path of the working directory, and Called and Named to its name before, which
// may contain symbolic links. It changes nothing and returns an error if the real path cannot be found.
func (e *Env) Settle() error {
	real, err := paths.Real(e.Dir)
	if err == nil {
		named := filepath.Clean(e.Dir)
		e.Called, e.Named, e.Start, e.Dir = named, named, real, real
	}
	return err
}

// Chdir changes the working directory to dir, a path relative to the present working directory. If the change fails, it
// prints an error on standard error and returns false.
func (e *Env) Chdir(dir string) bool {
	real, err := paths.Real(e.Path(dir))
	if info, serr := os.Stat(real); err == nil && serr == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err == nil && e.Enter != nil {
		err = e.Enter(real)
	}
	if err != nil {
		fmt.Fprintf(e.Stderr, "Error handling -chdir option: chdir %s: %s\n", dir, disk.Reason(err))
		return false
	}
	if e.Named = real; real == e.Start {
		e.Named = e.Called // in the start directory, the caller's name is valid
	}
	e.Dir = real
	return true
}

// Names returns the names of the product and of the command for lines that other programs read. Under the name of
// Terraform or OpenTofu, the program uses their names, so that programs that drive them find the expected lines.
// Wrappers add "-bin" to the name of the wrapped program. The suffix "-lethe" is for an installation next to the
// original (ADR 38).
func (e *Env) Names() (product, command string) {
	command = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(e.Program), ".exe"), "-bin")
	switch strings.TrimSuffix(command, "-lethe") {
	case "terraform":
		return "Terraform", command
	case "tofu":
		return "OpenTofu", command
	}
	return "Lethe", "lethe"
}

// Product returns the name of the product for lines that other programs read: "Lethe", "Terraform" or "OpenTofu".
func (e *Env) Product() string {
	product, _ := e.Names()
	return product
}

// Registry returns the registry of providers for which neither the configuration nor the state names a host. It is the
// registry of Terraform if the program was called as terraform, and the registry of OpenTofu otherwise.
func (e *Env) Registry() string {
	if e.Product() == "Terraform" {
		return addr.TerraformHost
	}
	return addr.DefaultHost
}

// MeantOption returns " Did you mean …?" with the most similar option, or "" if no option is similar.
func MeantOption(given string, options []string) string {
	if near := diag.Suggest(given, options); near != "" {
		return " Did you mean " + near + "?"
	}
	return ""
}
