package store

import (
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// guardName is the name of the lock file of a directory, which guardDir opens. Windows cannot lock a directory itself.
const guardName = ".lethe.guard"

// guardDir locks a directory, so that only one writer at a time reads a state in it and replaces the state. Writers
// that do not lock the state itself take this lock, too. Only one process can open the file guardName, and the system
// removes that file when the process closes it or ends. If the file cannot be created, guardDir locks nothing and
// returns true. It waits at most for the duration longest, and then returns false.
func guardDir(dir string, longest time.Duration) (release func(), ok bool) {
	none := func() {}
	name, err := windows.UTF16PtrFromString(filepath.Join(dir, guardName))
	if err != nil {
		return none, true
	}
	for end := time.Now().Add(longest); ; time.Sleep(5 * time.Millisecond) {
		h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.DELETE, 0, nil, windows.OPEN_ALWAYS, windows.FILE_ATTRIBUTE_HIDDEN|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
		switch {
		case err == nil:
			return func() { _ = windows.CloseHandle(h) }, true
		case err != windows.ERROR_SHARING_VIOLATION && err != windows.ERROR_ACCESS_DENIED: // Windows denies access to a file that is being removed
			return none, true
		case !time.Now().Before(end):
			return none, false
		}
	}
}
