package base

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// FS is where a command keeps things.
func (e *Env) FS() disk.FS {
	if e.Files != nil {
		return e.Files
	}
	return disk.OS
}

// Getenv looks a variable up, "" if it is not set.
func (e *Env) Getenv(name string) string { return subprocess.Getenv(e.Environ, name) }

// Path makes a path from a flag absolute: relative ones are seen from the working directory. "" stays.
func (e *Env) Path(p string) string {
	return paths.In(e.Dir, p)
}

// Settle makes Dir the real path of the working directory, which the shell may have called by another name.
func (e *Env) Settle() error {
	real, err := paths.Real(e.Dir)
	if err == nil {
		named := filepath.Clean(e.Dir)
		e.Called, e.Named, e.Start, e.Dir = named, named, real, real
	}
	return err
}

// Chdir makes another directory the working directory. It reports one that there is not.
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
		e.Named = e.Called // the variable PWD holds again
	}
	e.Dir = real
	return true
}

// Names are how the program is called and what it calls itself in the lines that other programs
// read: installed under the name of Terraform or OpenTofu it has theirs, so that what drives these
// finds the lines it looks for. Wrappers put "-bin" behind the name of what they wrap; with "-lethe" behind it, the
// program stands beside its peer (ADR 38).
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

// Product is what the program calls itself.
func (e *Env) Product() string {
	product, _ := e.Names()
	return product
}

// Registry is the host under which new providers are known, where neither the configuration nor the
// state names one: that of the program under whose name this one was called.
func (e *Env) Registry() string {
	if e.Product() == "Terraform" {
		return addr.TerraformHost
	}
	return addr.DefaultHost
}

// MeantOption is " Did you mean …?" if an option is near to one of those that there are.
func MeantOption(given string, options []string) string {
	if near := diag.Suggest(given, options); near != "" {
		return " Did you mean " + near + "?"
	}
	return ""
}
