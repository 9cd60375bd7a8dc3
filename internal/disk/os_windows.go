package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// The state file is replaced and removed while this process has it open and locked. Windows permits this only for files
// that were opened in a sharing mode. The methods of os.Root open, rename and remove files in this mode. Network
// shares, exFAT and old servers lack the system calls behind these methods. On these file systems, the functions of
// this file use the plain calls of package os, which cannot replace an open file (see unreplaceable).

func openFile(name string, flag int, mode fs.FileMode) (f *os.File, err error) {
	private := flag&os.O_CREATE != 0 && mode&0o077 == 0 && !exists(name)
	err = patiently(func() error {
		return within(filepath.Dir(name), func(dir *os.Root) error {
			f, err = dir.OpenFile(filepath.Base(name), flag, mode)
			return err
		})
	})
	if err != nil || !private {
		return f, err
	}
	if err := restrict(name); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "restrict access to", Path: name, Err: err}, f.Close())
	}
	return f, nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// restrict gives a new file an access control list that permits only the user of this process. Modes have no meaning on
// Windows, and a new file would inherit the list of its directory. On file systems without such lists, such as exFAT,
// restrict does nothing.
func restrict(name string) error {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	full := windows.EXPLICIT_ACCESS{
		AccessPermissions: windows.GENERIC_ALL,
		AccessMode:        windows.SET_ACCESS,
		Trustee:           windows.TRUSTEE{TrusteeForm: windows.TRUSTEE_IS_SID, TrusteeValue: windows.TrusteeValueFromSID(user.User.Sid)},
	}
	list, err := windows.ACLFromEntries([]windows.EXPLICIT_ACCESS{full}, nil)
	if err != nil {
		return err
	}
	const what = windows.DACL_SECURITY_INFORMATION | windows.PROTECTED_DACL_SECURITY_INFORMATION
	err = windows.SetNamedSecurityInfo(name, windows.SE_FILE_OBJECT, what, nil, nil, list, nil)
	if is(err, windows.ERROR_INVALID_FUNCTION, windows.ERROR_NOT_SUPPORTED) {
		return nil
	}
	return err
}

func rename(from, to string) error {
	return patiently(func() error {
		if filepath.Dir(from) != filepath.Dir(to) {
			return os.Rename(from, to)
		}
		err := within(filepath.Dir(from), func(dir *os.Root) error { return dir.Rename(filepath.Base(from), filepath.Base(to)) })
		if refused(err) {
			return os.Rename(from, to)
		}
		return err
	})
}

func remove(name string) error {
	return patiently(func() error {
		err := within(filepath.Dir(name), func(dir *os.Root) error { return dir.Remove(filepath.Base(name)) })
		if refused(err) {
			return os.Remove(name)
		}
		return err
	})
}

// removeAll removes a file or a directory with its contents. If os.RemoveAll fails because the file system lacks the
// calls of os.Root, removeAll uses the plain calls.
func removeAll(name string) error {
	err := os.RemoveAll(name)
	if !refused(err) {
		return err
	}
	entries, err := os.ReadDir(name) // fails for a file, and for a link whose target does not exist
	if info, failed := os.Lstat(name); err == nil && failed == nil && info.IsDir() {
		for _, e := range entries {
			if err := removeAll(filepath.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// refused reports whether err can mean that the file system lacks a system call of os.Root.
func refused(err error) bool {
	return is(err, windows.ERROR_INVALID_FUNCTION, windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_PARAMETER, windows.ERROR_ACCESS_DENIED)
}

// unreplaceable reports whether a rename failed because another handle has the target open, be it the lock of this process or
// another program, such as a virus scanner.
func unreplaceable(err error) bool {
	return is(err, windows.ERROR_ACCESS_DENIED, windows.ERROR_SHARING_VIOLATION)
}

// patience is the longest time that patiently waits for a program that holds a file open. Virus scanners need less.
const patience = 2 * time.Second

// patiently calls do, an operation on a file, again while it fails because another program holds the file open, but no
// longer than patience. It returns the last error of do.
func patiently(do func() error) error {
	for wait, waited := 10*time.Millisecond, time.Duration(0); ; wait *= 2 {
		err := do()
		if waited += wait; !is(err, windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION) || waited > patience {
			return err
		}
		time.Sleep(wait)
	}
}

func is(err error, codes ...windows.Errno) bool {
	for _, code := range codes {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// syncDir does nothing, because Windows cannot synchronise directories, and the file system keeps a journal of names.
func syncDir(string) error { return nil }

func within(dir string, f func(*os.Root) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(f(root), root.Close())
}
