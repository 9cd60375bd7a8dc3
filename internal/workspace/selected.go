package workspace

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Variable is the environment variable that selects a workspace.
const Variable = "TF_WORKSPACE"

// Selected is the name of the workspace that commands work with: of the environment, or of the file
// that Select wrote.
func (e *Env) Selected() string {
	if w := e.Getenv(Variable); w != "" {
		return w
	}
	text, err := os.ReadFile(e.selection())
	if w := strings.TrimSpace(string(text)); err == nil && w != "" {
		return w
	}
	return store.Default
}

// Select makes a workspace the one that later commands work with.
func (e *Env) Select(name string) error {
	if err := e.MakeData(); err != nil {
		return err
	}
	return disk.Replace(e.FS, e.selection(), []byte(name))
}

// MakeData makes the data directory.
func (e *Env) MakeData() error { return os.MkdirAll(e.Data, 0o755) }

func (e *Env) selection() string { return filepath.Join(e.Data, "environment") }

// CheckName refuses a name that no workspace can have.
func (e *Env) CheckName(name string) bool {
	if store.CheckName(name) == nil {
		return true
	}
	e.Bag.Add(diag.Errorf("Invalid workspace name", "The workspace name %q is not allowed. The name must contain only URL safe characters, and no path separators.", name))
	return false
}
