//go:build unix

package config

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
)

// TestPipes checks that a file of values may be a pipe, which shells use for the output of a command. A pipe with the
// name of a configuration file is refused without waiting for it.
func TestPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.tf")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	var bag diag.Bag
	if _, ok := Load(filepath.Dir(path), Options{}, nil, &bag); ok || bag.List()[0].Summary != "Failed to read file" {
		t.Errorf("%v", bag.List())
	}
	go func() { _ = os.WriteFile(path, []byte("a = 1\n"), 0o600) }()
	_, values, ok := ReadValues(path, Options{}, &bag)
	if !ok || values["a"] == nil {
		t.Errorf("%v", bag.List())
	}
	if _, _, ok := ReadValues(path+".missing", Options{}, &bag); ok {
		t.Error("a file that is not there")
	}
}
