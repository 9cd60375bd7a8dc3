package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/paths"
)

// EmergencyName is the name of the file for a state that could not be stored.
const EmergencyName = "errored.tfstate"

// EmergencyDump writes a state that could not be stored into the first directory that accepts it, with mode 0600, and
// returns the path. It does not overwrite an earlier file: then the new name contains a number. If no directory accepts
// the state, the error has the reason for each directory. It never contains a part of the state.
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
	return "", fmt.Errorf("%s already has a thousand unstored states; remove some of them", dir)
}

// EmergencyDirs returns the directories in which EmergencyDump tries to write, in this order: dir, the user's data
// directory, and the directory for temporary files. The last two are usually on other file systems. getenv returns the
// value of an environment variable.
func EmergencyDirs(dir string, getenv func(string) string) []string {
	dirs := []string{dir}
	if user := paths.Data(getenv); user != "" {
		dirs = append(dirs, user)
	}
	return append(dirs, paths.Temp(getenv))
}
