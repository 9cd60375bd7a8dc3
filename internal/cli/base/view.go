package base

import (
	"errors"
	"io"
	"os"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
)

// JSONFlag registers -json.
func (c *Call) JSONFlag() {
	c.Flags.BoolVar(&c.View.JSON, "json", false, "Print JSON instead of text.")
}

// StreamFlags registers -json and -json-into for a command whose JSON is a stream.
func (c *Call) StreamFlags() {
	c.JSONFlag()
	c.Flags.StringVar(&c.View.JSONInto, "json-into", "", "Write the JSON stream to this `file` as well.")
}

// DocumentFlags registers -json and -json-into for a command whose JSON is one document.
func (c *Call) DocumentFlags() {
	c.JSONFlag()
	c.Flags.StringVar(&c.View.JSONInto, "json-into", "", "Write the JSON document to this `file` as well.")
}

// ForPrograms reports whether the user wants a document, on standard output or in a file.
func (c *Call) ForPrograms() bool { return c.View.JSON || c.View.JSONInto != "" }

// Document calls write to write the JSON document of a command: to the file of -json-into, if this flag is set, and to
// standard output, if -json is set. alone is true if -json is set: then the caller prints nothing else. err is the
// error of writing to standard output. If the file cannot be written, Document adds an error to the bag.
func (c *Call) Document(write func(io.Writer) error) (alone bool, err error) {
	if c.View.JSONInto != "" {
		f, err := c.createInto()
		if err == nil {
			err = errors.Join(write(f), f.Close())
		}
		if err != nil {
			c.Bag.Add(diag.Errorf("Failed to write the file of -json-into", "The file %s of -json-into cannot be written: %s.", c.View.JSONInto, disk.Reason(err)))
		}
	}
	if !c.View.JSON {
		return false, nil
	}
	return true, write(c.Stdout)
}

// createInto creates the file of -json-into, or empties an existing file. Only the owner may read the file, because it
// may contain sensitive values. If the permissions of an existing file cannot be restricted, the file keeps its
// content.
func (c *Call) createInto() (*os.File, error) {
	f, err := disk.OpenPrivate(c.Path(c.View.JSONInto), 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		if info.Mode().Perm()&^disk.FileMode != 0 {
			err = f.Chmod(disk.FileMode)
		}
		if err == nil {
			err = f.Truncate(0)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// SensitiveFlag registers -show-sensitive.
func (c *Call) SensitiveFlag() {
	c.Flags.BoolVar(&c.View.ShowSecrets, "show-sensitive", false, "Show sensitive values.")
}

// FoldFlag registers -fold.
func (c *Call) FoldFlag() {
	c.Flags.BoolVar(&c.View.Fold, "fold", false, "On a terminal, show equal changes of one resource once.")
}

// GatherFlags registers -consolidate-warnings and -consolidate-errors. Unless they are false, similar warnings and
// similar errors are each shown as one.
func (c *Call) GatherFlags() {
	c.Flags.BoolVar(&c.View.gatherWarnings, "consolidate-warnings", true, "Show similar warnings as one.")
	c.Flags.BoolVar(&c.View.gatherErrors, "consolidate-errors", true, "Show similar errors as one.")
}

// apart returns the severities whose diagnostics are shown separately.
func (f *ViewFlags) apart() []diag.Severity {
	var out []diag.Severity
	if !f.gatherWarnings {
		out = append(out, diag.Warning)
	}
	if !f.gatherErrors {
		out = append(out, diag.Error)
	}
	return out
}
