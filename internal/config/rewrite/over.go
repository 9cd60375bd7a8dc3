package rewrite

import (
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/config"
)

// Over returns the files of the disk, but some existing files have other texts: texts, by path.
func Over(texts map[string][]byte) config.Files {
	o := &over{Files: config.Disk, texts: map[string][]byte{}}
	for path, text := range texts {
		o.texts[o.key(path)] = text
	}
	return o
}

type over struct {
	config.Files
	texts map[string][]byte
}

// key returns the path with the symbolic links in its directory resolved.
func (o *over) key(path string) string {
	return filepath.Join(o.Same(filepath.Dir(path)), filepath.Base(path))
}

func (o *over) Read(path string, limit int64) ([]byte, error) {
	if text, ok := o.texts[o.key(path)]; ok {
		return text, nil
	}
	return o.Files.Read(path, limit)
}
