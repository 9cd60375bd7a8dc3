package lethe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// secretMode is the mode of a secret file, in the format of the attribute mode.
const secretMode = "0600"

// secretFile returns the resource lethe_secret_file. The provider reads only whether the file exists, and its mode. It
// writes the content when the file is created and when the version of the content changes, and never reads it.
func (p *Provider) secretFile() *builtin.Resource {
	return &builtin.Resource{
		Schema: describe("A file with mode 0600. Its content is in no state and in no plan.",
			schema.Required("path", cty.String, "The path of the file, relative to the working directory. A new path replaces the file."),
			&schema.Attr{Name: "content_wo", Type: cty.String, Required: true, WriteOnly: true, Description: "The content of the file."},
			schema.Optional("content_wo_version", cty.Number, "The version of the content. If it changes, the file is written again."),
			computed("mode", cty.String, "The mode of the file: "+secretMode+"."),
		),
		Validate: validatePath,
		Plan:     builtin.PlanWith(planSecretFile),
		Apply:    builtin.ApplyWith(p.applySecretFile),
		Read:     p.readSecretFile,
		Import:   p.importSecretFile,
	}
}

func planSecretFile(prior, proposed, _ cty.Value) (cty.Value, []cty.Path, provider.Diags) {
	planned := proposed.AsValueMap()
	planned["content_wo"] = cty.NullVal(cty.String)
	planned["mode"] = cty.StringVal(secretMode)
	var replace []cty.Path
	if path := proposed.GetAttr("path"); !prior.IsNull() && !(path.IsKnown() && path.RawEquals(prior.GetAttr("path"))) {
		replace = append(replace, cty.GetAttrPath("path"))
	}
	return cty.ObjectVal(planned), replace, nil
}

func (p *Provider) applySecretFile(_ context.Context, prior, planned, config cty.Value) (cty.Value, provider.Diags) {
	if planned.IsNull() {
		path := p.path(schema.Text(prior, "path"))
		disk.Sweep(disk.OS, path) // remove temporary files of earlier writes, because they contain the secret, too
		if err := remove(path); err != nil {
			return prior, fails(refused("path", "Secret file not removed", "The file could not be removed: %s.", fileReason(err)))
		}
		return planned, nil
	}
	if err := p.write(prior, planned, config); err != nil {
		kept := prior
		if errors.Is(err, errWritten) {
			kept = planned
		}
		return kept, fails(refused("path", "Secret file not written", "The file could not be written: %s.", fileReason(err)))
	}
	return planned, nil
}

const (
	errExists  = fileError("the file already exists. Import it, or remove it")
	errWritten = fileError("it is written, but may be lost in a power failure")
)

// write writes the content of the file, or sets its mode. If the version of the content is unchanged, write keeps the
// content and sets only the mode: a value that differs in each run must not be written without a new version.
func (p *Provider) write(prior, planned, config cty.Value) error {
	path := p.path(schema.Text(planned, "path"))
	info, err := os.Lstat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil && prior.IsNull():
		return errExists
	case err == nil && !info.Mode().IsRegular():
		return errNotRegular
	case err != nil && !missing:
		return err
	case err == nil && planned.GetAttr("content_wo_version").RawEquals(prior.GetAttr("content_wo_version")):
		return os.Chmod(path, disk.FileMode)
	}
	disk.Sweep(disk.OS, path)
	return put(path, []byte(schema.Text(config, "content_wo")), missing)
}

// put replaces a file by a new file that belongs to the user of this process, so that the owner of the old file cannot
// read the new content. If missing is true, no file existed before: if another program has created one meanwhile, put
// does not change it and returns errExists. If the file is in place, but the directory cannot be synced, put returns
// errWritten.
func put(path string, content []byte, missing bool) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, disk.DirMode); err != nil {
		return err
	}
	f, err := disk.Temp(disk.OS, path)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	switch {
	case err != nil:
	case missing:
		err = place(f.Name(), path, content)
	default:
		err = disk.OS.Rename(f.Name(), path)
	}
	if err != nil || missing {
		err = errors.Join(err, remove(f.Name()))
	}
	if err == nil && disk.SyncDir(disk.OS, dir) != nil {
		return errWritten
	}
	return err
}

// place makes path a hard link to the new file. The argument from is the present path of the new file. It returns
// errExists if a file with that name exists. On file systems without hard links, place writes the content to a new file
// with that name.
func place(from, path string, content []byte) error {
	err := os.Link(from, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return exists(err)
	}
	f, err := disk.OS.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, disk.FileMode)
	if err != nil {
		return exists(err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		disk.OS.Remove(path)
	}
	return err
}

func exists(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return errExists
	}
	return err
}

// remove removes a file. It returns an error if the path is a directory, and nil if the file does not exist.
func remove(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		return errNotRegular
	}
	if err == nil {
		err = disk.OS.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (p *Provider) readSecretFile(_ context.Context, current cty.Value) (cty.Value, provider.Diags) {
	gone := cty.NullVal(current.Type())
	info, err := os.Lstat(p.path(schema.Text(current, "path")))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return gone, nil
	case err != nil:
		return current, fails(refused("path", "Secret file not found", "Lethe cannot check whether the file exists: %s.", fileReason(err)))
	case !info.Mode().IsRegular():
		return gone, fails(diag.Warningf("Secret file replaced", "There is another kind of file at this path now. It was not changed.").In(cty.GetAttrPath("path")))
	}
	out := current.AsValueMap()
	out["mode"] = cty.StringVal(modeOf(info))
	return cty.ObjectVal(out), nil
}

// modeOf returns the mode of a file in the format of the attribute mode, such as "0600". If this system's modes do not
// show which users may read a file, modeOf returns secretMode.
func modeOf(info fs.FileInfo) string {
	if !modesCount {
		return secretMode
	}
	return fmt.Sprintf("%04o", info.Mode().Perm())
}

func (p *Provider) importSecretFile(_ context.Context, id string) (cty.Value, provider.Diags) {
	info, err := os.Lstat(p.path(id))
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return cty.NilVal, fails(diag.Errorf("Secret file cannot be imported", "The file at this path cannot be imported: %s. The id must be the path of a file.", fileReason(err)))
	}
	return cty.ObjectVal(map[string]cty.Value{
		"path": cty.StringVal(id), "mode": cty.StringVal(modeOf(info)),
		"content_wo": cty.NullVal(cty.String), "content_wo_version": cty.NullVal(cty.Number),
	}), nil
}
