package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/state/disk"
)

// EmergencyName is the file for a state that could not be stored.
const EmergencyName = "errored.tfstate"

// EmergencyDump writes a state that could not be stored into the first directory that takes it,
// whole and 0600, and says where it is. A file from an earlier emergency is left alone: the new
// one has a number then. If no directory takes it the error says why for each; the content is
// never part of it.
func EmergencyDump(fsys disk.FS, data []byte, dirs ...string) (path string, err error) {
	for _, dir := range dirs {
		path, failed := dump(fsys, data, dir)
		if failed == nil {
			return path, nil
		}
		err = errors.Join(err, failed)
	}
	return "", err
}

func dump(fsys disk.FS, data []byte, dir string) (string, error) {
	for n := range 1000 {
		path := filepath.Join(dir, EmergencyName)
		if n > 0 {
			path = fmt.Sprintf("%s.%d", path, n)
		}
		_, err := fsys.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, disk.Replace(fsys, path, data)
		}
		if err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%s holds a thousand states that could not be stored", dir)
}

// EmergencyDirs are the directories to try after dir: one of the user, then that for temporary
// files, both on other file systems as a rule.
func EmergencyDirs(dir string, getenv func(string) string) []string {
	dirs := []string{dir}
	if user := disk.UserDir(getenv); user != "" {
		dirs = append(dirs, user)
	}
	if tmp := getenv("TMPDIR"); tmp != "" {
		return append(dirs, tmp)
	}
	return append(dirs, "/tmp")
}
