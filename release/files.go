package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
	"github.com/lethe-iac/lethe/internal/cli/devcmd"
	"github.com/lethe-iac/lethe/internal/cli/manual"
)

// file is a file of an archive or a package.
type file struct {
	name string // "man/lethe-plan.1"
	data []byte
	mode os.FileMode
}

// common returns the files that are the same on all platforms: licence, README, manual pages and completions.
func (r *release) common() ([]file, error) {
	var out []file
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		out = append(out, file{name, data, 0o644})
	}
	commands := cli.Manual()
	out = append(out, file{"man/lethe.1", []byte(manual.Overview(commands, cli.GlobalOptions(), r.version)), 0o644})
	for _, about := range commands {
		out = append(out, file{"man/" + manual.FileName(about.Name), []byte(manual.Page(about, r.version)), 0o644})
	}
	for shell, name := range completions {
		text, ok := devcmd.CompletionScript(shell, "lethe")
		if !ok {
			return nil, fmt.Errorf("there is no completion for %s", shell)
		}
		out = append(out, file{"completions/" + name, []byte(text), 0o644})
	}
	sortFiles(out)
	return out, nil
}

// completions maps shells to names of files.
var completions = map[string]string{"bash": "lethe.bash", "zsh": "_lethe", "fish": "lethe.fish", "powershell": "lethe.ps1"}

// tarred returns a compressed archive (.tar.gz) of files, for Unix. The parameter at is the time of all files in it.
func tarred(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zip)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = zip.Close()
	return b.Bytes(), err
}

// zipped returns an archive (.zip) of files, for Windows. The parameter at is the time of all files in it.
func zipped(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
