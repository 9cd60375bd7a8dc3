package provision

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
)

// file copies a file, a directory or a text to the target, as the arguments of the provisioner "file" require.
func (r *run) file(ctx context.Context) error {
	// Errors of reading must occur before the connection is made.
	u, err := r.source()
	if err != nil {
		return &fault{full: err.Error(), safe: "The source cannot be read: " + r.redaction.reason(err)}
	}
	s, err := r.settings(ctx)
	if err != nil {
		return err
	}
	u.path = s.platform.home(schema.Text(r.Config.Raw, "destination"))
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.upload(ctx, u); err != nil {
		return &fault{full: "Upload failed", safe: "Upload failed", cause: err}
	}
	return nil
}

// source returns the data to copy. On the target, a file goes to the destination, or into it if the destination is a
// directory. A directory goes into the destination under its name. If the path of a source directory ends with a slash,
// only its entries go there.
func (r *run) source() (upload, error) {
	config := r.Config.Raw
	if content := config.GetAttr("content"); !content.IsNull() {
		s := content.AsString()
		return upload{send: func(to *sender) error {
			return to.file("tf-file-content", r.contentMode(), int64(len(s)), strings.NewReader(s))
		}}, nil
	}
	given := schema.Text(config, "source")
	path, err := filepath.Abs(r.path(given)) // an absolute path, because "." has no name for the target
	if err != nil {
		return upload{}, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return upload{}, err
	case !info.IsDir():
		f, _, err := openRegular(path) // open the file only to check that it can be read
		if err != nil {
			return upload{}, err
		}
		f.Close()
		return upload{send: func(to *sender) error { return sendFile(to, path) }}, nil
	}
	if strings.HasSuffix(given, "/") || strings.HasSuffix(given, string(filepath.Separator)) {
		return upload{kind: entries, send: func(to *sender) error { return (&tree{to: to}).inside(path) }}, nil
	}
	return upload{kind: directory, send: func(to *sender) error { return (&tree{to: to}).dir(path) }}, nil
}

// contentMode returns the mode of a file that is made from the argument content. All users of the target may read the
// file. If the text is ephemeral, it is a secret, and only the owner may read the file.
func (r *run) contentMode() fs.FileMode {
	for _, m := range r.Config.Marks {
		if m.Tag != mark.Ephemeral {
			continue
		}
		if len(m.Path) == 0 || m.Path[0] == (cty.GetAttrStep{Name: "content"}) {
			return 0o600
		}
	}
	return 0o644
}

// sendFile sends a file. Its mode on the target does not depend on its local mode, except that executable files remain
// executable.
func sendFile(to *sender, path string) error {
	f, size, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	mode := fs.FileMode(0o644)
	if info, err := f.Stat(); err == nil && info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	return to.file(filepath.Base(path), mode, size, f)
}

// tree sends directories with their content. It follows symbolic links.
type tree struct {
	to    *sender
	above []fs.FileInfo // the directories above the current entry
}

func (t *tree) dir(path string) error {
	return t.to.dir(filepath.Base(path), 0o755, func() error { return t.inside(path) })
}

func (t *tree) inside(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	for _, up := range t.above {
		if os.SameFile(up, info) {
			return &fs.PathError{Op: "copy", Path: path, Err: errCircle}
		}
	}
	t.above = append(t.above, info)
	defer func() { t.above = t.above[:len(t.above)-1] }()
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := t.entry(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) entry(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return t.dir(path)
	}
	return sendFile(t.to, path)
}
