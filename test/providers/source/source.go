// Package source copies the source of published Go modules from the module proxy, to build and test it unchanged.
package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Module is one version of a module.
type Module struct {
	Path, Version string

	// Sum is the hash of the module in the form of go.sum. It is needed for versions that the checksum database does
	// not have, for example versions without a tag that Go knows. If it is "", the database is used.
	Sum string
}

// ErrAbsent is the error for a version that the proxy does not have.
var ErrAbsent = errors.New("not available from the module proxy")

// Copy downloads the module and copies it to a new directory below dir, where it can be changed. It returns the new
// directory. The error wraps ErrAbsent if the proxy does not have the version. Another hash than Sum is an error.
func (m Module) Copy(dir string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", m.Path+"@"+m.Version)
	cmd.Dir = dir // outside a module, so that the command changes no go.sum
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if m.Sum != "" {
		cmd.Env = append(cmd.Env, "GONOSUMDB="+m.Path)
	}
	out, err := cmd.Output()
	var got struct{ Dir, Sum, Error string }
	jerr := json.Unmarshal(out, &got)
	switch {
	case jerr != nil:
		return "", fmt.Errorf("downloading %s@%s: %w, %w", m.Path, m.Version, err, jerr)
	case strings.Contains(got.Error, "not available") || strings.Contains(got.Error, "not found") || strings.Contains(got.Error, "unknown revision"):
		return "", fmt.Errorf("%s@%s: %w: %s", m.Path, m.Version, ErrAbsent, got.Error)
	case got.Error != "" || err != nil:
		return "", fmt.Errorf("downloading %s@%s: %s %w", m.Path, m.Version, got.Error, err)
	case m.Sum != "" && got.Sum != m.Sum:
		return "", fmt.Errorf("%s@%s has the hash %s, not %s", m.Path, m.Version, got.Sum, m.Sum)
	}
	dst, err := os.MkdirTemp(dir, filepath.Base(m.Path))
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(dst, os.DirFS(got.Dir)); err != nil {
		return "", err
	}
	return dst, filepath.WalkDir(dst, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	})
}

// Go runs the go command in a copied module. The error of a failed command contains its output.
func Go(dir string, args ...string) error {
	return command(dir, "-trimpath", args...)
}

// Build builds the package pkg of the module in dir, and writes the program to path. The error of a failed build
// contains the output of the compiler.
func Build(dir, pkg, path string) error {
	return command(dir, "-mod=mod", "build", "-o", path, pkg)
}

func command(dir, flags string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags, "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
