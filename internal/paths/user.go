package paths

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
)

// windows is true on Windows, where other environment variables name the directories of a user.
const windows = runtime.GOOS == "windows"

// Home returns the home directory of the user, or "" if the environment does not name one.
func Home(getenv func(string) string) string {
	if windows {
		return cmp.Or(getenv("HOME"), getenv("USERPROFILE")) // programs that come from other systems, such as Git, set HOME
	}
	return getenv("HOME")
}

// Data returns Lethe's directory for data of the user that are kept between runs and belong to no working directory. It
// returns "" if the environment names no such directory. It ignores relative paths, because they would depend on the
// working directory.
func Data(getenv func(string) string) string {
	return userDir(getenv, "XDG_STATE_HOME", filepath.Join(".local", "state"), "")
}

// Cache returns Lethe's directory for data of the user that can be downloaded or computed again. It returns "" if the
// environment names no such directory. It ignores relative paths.
func Cache(getenv func(string) string) string {
	return userDir(getenv, "XDG_CACHE_HOME", ".cache", "cache")
}

// userDir returns Lethe's directory below the directory that the variable xdg names. Without that variable, it is below
// the directory unix in the home directory. Windows has one directory for both kinds of data, so there the result has
// the subdirectory local.
func userDir(getenv func(string) string, xdg, unix, local string) string {
	if dir := getenv(xdg); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lethe")
	}
	if dir := getenv("LOCALAPPDATA"); windows && filepath.IsAbs(dir) {
		return filepath.Join(dir, "lethe", local)
	}
	if home := Home(getenv); filepath.IsAbs(home) {
		return filepath.Join(home, unix, "lethe")
	}
	return ""
}

// Temp returns the directory for temporary files.
func Temp(getenv func(string) string) string {
	if windows {
		return cmp.Or(getenv("TEMP"), getenv("TMP"), os.TempDir())
	}
	return cmp.Or(getenv("TMPDIR"), "/tmp")
}
