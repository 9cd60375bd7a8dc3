package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/rogpeppe/go-internal/diff"
)

var fmtCommand = &Command{
	Name: "fmt", Args: "[target...]", Short: "Reformat your configuration in the standard style",
	Long: `Rewrites all configuration files to a canonical format. All configuration
files (.tf, .tofu), variables files (.tfvars), testing files (.tftest.hcl,
.tofutest.hcl, .tfmock.hcl) and query files (.tfquery.hcl) are updated.
JSON files (.tf.json, .tfvars.json, or .tftest.json) are not modified.

By default, fmt scans the current directory for configuration files. If you
provide a directory for the target argument, then fmt will scan that
directory instead. If you provide a file, then fmt will process just that
file. If you provide a single dash ("-"), then fmt will read from standard
input (STDIN).`,
	Flags: func(c *call) {
		f := c.flags
		f.BoolVar(&c.format.list, "list", true, "List the files whose formatting differs.")
		f.BoolVar(&c.format.write, "write", true, "Write the result to the files.")
		f.BoolVar(&c.format.diff, "diff", false, "Display the differences.")
		f.BoolVar(&c.format.check, "check", false, "Only check; exit with 3 if something is not formatted.")
		f.BoolVar(&c.format.recursive, "recursive", false, "Also process subdirectories.")
	},
	Run: runFormat,
}

// formatting is what fmt is asked to do, and what it found.
type formatting struct {
	list, write, diff, check, recursive bool
	changed, failed                     bool
	most                                int64 // bytes of a file
}

func runFormat(ctx context.Context, c *call) int {
	return until(ctx, c.formatAll)
}

func (c *call) formatAll() int {
	f := &c.format
	l, ok := c.readLimits()
	if !ok {
		return c.ui.fail()
	}
	f.most = l.fileSize()
	if f.check {
		f.write = false
	}
	targets := c.operands
	if len(targets) == 0 {
		targets = []string{"."}
	}
	for _, t := range targets {
		if t == "-" {
			c.formatStdin()
			continue
		}
		c.formatPath(t)
	}
	switch {
	case f.failed:
		return c.ui.done(2)
	case f.check && f.changed:
		return c.ui.done(exitFormat)
	}
	return c.ui.done(exitOK)
}

func (c *call) formatStdin() {
	const name = "<stdin>"
	src, err := config.ReadStream(c.Stdin, c.format.most)
	if err != nil {
		c.formatError(diag.Errorf("Failed to read standard input", "%s.", err))
		return
	}
	c.sources.Set(name, src)
	out, ok := config.FormatSource(name, src, &c.bag)
	if !ok {
		c.format.failed = true
		return
	}
	c.format.changed = c.format.changed || !bytes.Equal(src, out)
	if c.format.diff && !bytes.Equal(src, out) {
		c.ui.print(unified(name, src, out))
	}
	if !c.format.check && !c.format.diff {
		c.ui.print(string(out))
		if len(out) > 0 && out[len(out)-1] != '\n' { // as the peers do: what comes after is on a line of its own
			c.ui.print("\n")
		}
	}
}

func (c *call) formatError(d diag.Diagnostic) {
	c.format.failed = true
	c.bag.Add(d)
}

func (c *call) formatPath(target string) {
	info, err := os.Stat(c.path(target))
	switch {
	case err != nil:
		c.formatError(diag.Errorf("No file or directory to format", "There is no file or directory at %s.", target))
	case !info.IsDir() && !formattable(target):
		c.formatError(diag.Errorf("Not a file to format", "The kind of %s is not one of those that fmt formats, which are: %s.", target, strings.Join(formattableKinds, ", ")))
	case !info.IsDir():
		c.formatFile(target)
	default:
		c.formatDir(target)
	}
}

func (c *call) formatDir(dir string) {
	err := filepath.WalkDir(c.path(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(c.Dir, path)
		if err != nil {
			rel = path
		}
		switch hidden := strings.HasPrefix(d.Name(), ".") && path != c.path(dir); {
		case d.IsDir() && path != c.path(dir) && (hidden || !c.format.recursive):
			return filepath.SkipDir
		case !d.IsDir() && !hidden && formattable(path):
			c.formatFile(rel)
		}
		return nil
	})
	if err != nil {
		c.formatError(diag.Errorf("Failed to read directory", "%s: %s.", dir, err))
	}
}

// hunk is the line above a stretch of a difference.
var hunk = regexp.MustCompile(`(?m)^@@ .* @@$`)

// unified is the difference between two texts of a file in the unified form, as the program diff prints
// it: without a line that names the command, and without the number of lines where that is one.
func unified(name string, old, new []byte) string {
	_, text, _ := strings.Cut(string(diff.Diff("old/"+name, old, "new/"+name, new)), "\n")
	return hunk.ReplaceAllStringFunc(text, func(h string) string { return strings.ReplaceAll(h, ",1 ", " ") })
}

// formattableKinds are the ends of the names of files that fmt rewrites.
var formattableKinds = []string{".tf", ".tofu", ".tfvars", ".tftest.hcl", ".tofutest.hcl", ".tfmock.hcl", ".tfquery.hcl"}

// formattable reports whether a file is of a kind that fmt rewrites.
func formattable(name string) bool {
	return slices.ContainsFunc(formattableKinds, func(end string) bool { return strings.HasSuffix(name, end) })
}

func (c *call) formatFile(name string) {
	path := c.path(name)
	src, err := config.Disk.Read(path, c.format.most)
	if err != nil {
		c.formatError(diag.Errorf("Failed to read file", "%s: %s.", name, err))
		return
	}
	c.sources.Set(name, src)
	out, ok := config.FormatSource(name, src, &c.bag)
	if !ok {
		c.format.failed = true
		return
	}
	if f := c.format; !f.list && !f.write && !f.diff && !f.check { // then the result is what is wanted
		c.ui.print(string(out))
	}
	if bytes.Equal(src, out) {
		return
	}
	c.format.changed = true
	if c.format.list {
		c.ui.print(name + "\n")
	}
	if c.format.diff {
		c.ui.print(unified(name, src, out))
	}
	if c.format.write {
		if err := os.WriteFile(path, out, 0o644); err != nil {
			_ = os.WriteFile(path, src, 0o644) // on a full disk there is the room that it had
			c.formatError(diag.Errorf("Failed to write file", "%s: %s.", name, err))
		}
	}
}
