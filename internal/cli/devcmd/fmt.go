package devcmd

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/settings"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/style"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/rogpeppe/go-internal/diff"
)

// Fmt is the command `fmt`.
var Fmt = &base.Command{
	Name: "fmt", Args: "[target...]", Short: "Reformat your configuration in the standard style",
	Long: `Rewrites all configuration files to a canonical format. All configuration
files (.tf, .tofu, .lethe), variables files (.tfvars), testing files
(.tftest.hcl, .tofutest.hcl, .tfmock.hcl) and query files (.tfquery.hcl) are
updated.
JSON files (.tf.json, .tfvars.json, or .tftest.json) are not modified.

By default, fmt scans the current directory for configuration files. If you
provide a directory for the target argument, then fmt will scan that
directory instead. If you provide a file, then fmt will process just that
file. If you provide a single dash ("-"), then fmt will read from standard
input (STDIN).`,
	Examples: [][2]string{
		{"lethe fmt -recursive", "Reformat this directory and its subdirectories"},
		{"lethe fmt -check -diff", "Show differences in style, and fail if there are any"},
		{"lethe fmt -", "Reformat standard input"},
	},
	Setup: base.Flags(func(c *base.Call, f *formatting) {
		f.c = c
		flags := c.Flags
		flags.BoolVar(&f.list, "list", true, "List the files whose formatting differs.")
		flags.BoolVar(&f.write, "write", true, "Write the result to the files.")
		flags.BoolVar(&f.diff, "diff", false, "Display the differences.")
		c.JSONFlag()
		flags.BoolVar(&f.check, "check", false, "Only check; exit with 3 if something is not formatted.")
		flags.BoolVar(&f.recursive, "recursive", false, "Also process subdirectories.")
	}, runFormat),
}

// formatting holds the flags of fmt and its results.
type formatting struct {
	c                                   *base.Call
	list, write, diff, check, recursive bool
	changed, failed                     bool     // a file was not formatted; a file could not be formatted
	files                               []string // files whose formatting differs
	most                                int64    // the limit for the size of a file in bytes
}

func runFormat(ctx context.Context, _ *base.Call, f *formatting) int {
	return until(ctx, f.all)
}

func (f *formatting) all() int {
	l, ok := settings.ReadLimits(f.c)
	if !ok {
		return f.c.UI.Fail()
	}
	f.most = l.Filled().Bytes
	f.write = f.write && !f.check
	if f.c.View.JSON { // with -json, the list of files is the document, so fmt prints nothing else
		f.list, f.diff, f.files = false, false, []string{}
	}
	targets := f.c.Operands
	if len(targets) == 0 {
		targets = []string{"."}
	}
	for _, t := range targets {
		if t == "-" {
			f.stdin()
			continue
		}
		f.path(t)
	}
	if f.c.View.JSON {
		f.c.UI.Document(struct {
			Format string   `json:"format_version"`
			Files  []string `json:"files"`
		}{"1.0", f.files})
	}
	switch {
	case f.failed:
		return f.c.UI.Done(2)
	case f.check && f.changed:
		return f.c.UI.Done(base.ExitFormat)
	}
	return f.c.UI.Done(base.ExitOK)
}

func (f *formatting) stdin() {
	const name = "<stdin>"
	src, err := config.ReadStream(f.c.Stdin, f.most)
	if err != nil {
		f.fails(diag.Errorf("Failed to read standard input", "%s.", err))
		return
	}
	f.c.Sources.Set(name, src)
	out, ok := style.Format(name, src, &f.c.Bag)
	if !ok {
		f.failed = true
		return
	}
	f.changed = f.changed || !bytes.Equal(src, out)
	if f.diff && !bytes.Equal(src, out) {
		f.c.UI.Print(unified(name, src, out))
	}
	if !f.check && !f.diff {
		f.c.UI.Print(string(out))
		if len(out) > 0 && out[len(out)-1] != '\n' { // as Terraform and OpenTofu do, end the output with a line break, so that later output begins on a new line
			f.c.UI.Print("\n")
		}
	}
}

func (f *formatting) fails(d diag.Diagnostic) {
	f.failed = true
	f.c.Bag.Add(d)
}

func (f *formatting) path(target string) {
	info, err := os.Stat(f.c.Path(target))
	switch {
	case err != nil:
		f.fails(diag.Errorf("No file or directory to format", "There is no file or directory at %s.", target))
	case !info.IsDir() && !formattable(target):
		f.fails(diag.Errorf("Not a file to format", "The command fmt does not format files like %s. It formats: %s.", target, strings.Join(formattableKinds, ", ")))
	case !info.IsDir():
		f.file(target)
	default:
		f.dir(target)
	}
}

func (f *formatting) dir(dir string) {
	err := filepath.WalkDir(f.c.Path(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.c.Dir, path)
		if err != nil {
			rel = path
		}
		switch hidden := strings.HasPrefix(d.Name(), ".") && path != f.c.Path(dir); {
		case d.IsDir() && path != f.c.Path(dir) && (hidden || !f.recursive):
			return filepath.SkipDir
		case !d.IsDir() && !hidden && formattable(path):
			f.file(rel)
		}
		return nil
	})
	if err != nil {
		f.fails(diag.Errorf("Failed to read directory", "%s: %s.", dir, err))
	}
}

// hunk matches the line above a hunk of a difference.
var hunk = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^@@ .* @@$`) })

// unified returns the difference between two texts of a file in the format of diff -u. Like the program diff, it omits
// the number of lines in the header of a hunk (@@ … @@) if the number is 1. It omits the first line, which names the
// command.
func unified(name string, old, new []byte) string {
	_, text, _ := strings.Cut(string(diff.Diff("old/"+name, old, "new/"+name, new)), "\n")
	return hunk().ReplaceAllStringFunc(text, func(h string) string { return strings.ReplaceAll(h, ",1 ", " ") })
}

// formattableKinds are the suffixes of the files that fmt rewrites.
var formattableKinds = []string{".tf", ".tofu", ".lethe", ".tfvars", ".tftest.hcl", ".tofutest.hcl", ".tfmock.hcl", ".tfquery.hcl"}

// formattable reports whether fmt rewrites a file with this name.
func formattable(name string) bool {
	return slices.ContainsFunc(formattableKinds, func(end string) bool { return strings.HasSuffix(name, end) })
}

func (f *formatting) file(name string) {
	path := f.c.Path(name)
	src, err := config.Disk.Read(path, f.most)
	if err != nil {
		f.fails(diag.Errorf("Failed to read file", "%s: %s.", name, err))
		return
	}
	f.c.Sources.Set(name, src)
	out, ok := style.Format(name, src, &f.c.Bag)
	if !ok {
		f.failed = true
		return
	}
	if !f.list && !f.write && !f.diff && !f.check && !f.c.View.JSON { // without another output, print the result
		f.c.UI.Print(string(out))
	}
	if bytes.Equal(src, out) {
		return
	}
	f.changed = true
	f.files = append(f.files, name)
	if f.list {
		f.c.UI.Print(name + "\n")
	}
	if f.diff {
		f.c.UI.Print(unified(name, src, out))
	}
	if f.write {
		if err := os.WriteFile(path, out, 0o644); err != nil {
			_ = os.WriteFile(path, src, 0o644) // on a full disk, the old content fits in its old space
			f.fails(diag.Errorf("Failed to write file", "%s: %s.", name, err))
		}
	}
}
