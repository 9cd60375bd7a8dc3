package lethe

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// fileMax is the maximum size of a secret file in bytes.
const fileMax = 1 << 20

// file returns the ephemeral type lethe_file, which reads a secret from a file.
func (p *Provider) file() *builtin.Ephemeral {
	return &builtin.Ephemeral{
		Schema: describe("The content of a secret file. It must be a regular file that only its owner can read or write.",
			schema.Required("path", cty.String, "The path of the file, relative to the working directory."),
			computed("content", cty.String, "The content of the file; null if it is not UTF-8."),
			computed("content_base64", cty.String, "The same in base64."),
		),
		Validate: validatePath,
		Open:     p.openFile,
	}
}

func validatePath(config cty.Value) provider.Diags {
	if v := config.GetAttr("path"); v.IsKnown() && !v.IsNull() && v.AsString() == "" {
		return fails(refused("path", "Invalid path", "The path must not be empty."))
	}
	return nil
}

func (p *Provider) openFile(_ context.Context, config cty.Value) (builtin.Lease, provider.Diags) {
	data, err := readSecret(p.path(schema.Text(config, "path")))
	if err != nil {
		return builtin.Lease{}, fails(refused("path", "Unusable secret file", "The file at this path cannot be used: %s.", fileReason(err)))
	}
	out := config.AsValueMap()
	out["content"] = cty.NullVal(cty.String)
	if utf8.Valid(data) {
		out["content"] = cty.StringVal(string(data))
	}
	out["content_base64"] = cty.StringVal(base64.StdEncoding.EncodeToString(data))
	return builtin.Lease{Result: cty.ObjectVal(out)}, nil
}

// fileError is the reason why an existing file cannot be used.
type fileError string

func (e fileError) Error() string { return string(e) }

const (
	errNotRegular = fileError("it is not a regular file")
	errTooLarge   = fileError("it is larger than 1 MiB")
	errOpenMode   = fileError("users other than its owner can read or write it; run chmod 600")
)

// readSecret reads a file of at most fileMax bytes. It checks the file before and after opening it, because the file
// may be replaced between the check and the opening.
func readSecret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = checkSecret(info)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err == nil {
		err = checkSecret(info)
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, fileMax+1))
	if err == nil && len(data) > fileMax {
		err = errTooLarge
	}
	return data, err
}

// checkSecret returns an error if a file is not regular, is larger than fileMax, or is accessible to other users.
func checkSecret(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return errNotRegular
	case modesCount && info.Mode().Perm()&0o077 != 0:
		return errOpenMode
	case info.Size() > fileMax:
		return errTooLarge
	}
	return nil
}

// fileReason returns the text of a file system error, without the path.
func fileReason(err error) string {
	var ours fileError
	var errno syscall.Errno
	switch {
	case errors.As(err, &ours):
		return ours.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "there is no file"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "the file system returned an error"
}
