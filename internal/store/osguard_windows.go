package store

import (
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// guardName is the name of the file that guardDir opens. Windows cannot lock a directory.
const guardName = ".lethe.guard"

// guardDir lets only one writer at a time read a state in a directory and replace it. This includes writers without the
// lock of the state. Only one process can open the guard file, and the system removes the file when that process closes
// it or ends. If the file cannot be created, guardDir locks nothing and returns true. It waits only up to longest, and
// then returns false.
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
		case err != windows.ERROR_SHARING_VIOLATION && err != windows.ERROR_ACCESS_DENIED: // a file that is being removed denies access
			return none, true
		case !time.Now().Before(end):
			return none, false
		}
	}
}
