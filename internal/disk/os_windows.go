package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sys/windows"
)

// The state file is replaced and removed while this process has it open and locked. Windows permits this only for files
// that were opened in a sharing mode. The methods of os.Root open, rename and remove files in this mode. Network
// shares, exFAT and old servers lack the system calls behind these methods. On these file systems, the functions of
// this file use the plain calls of package os, which cannot replace an open file (see unreplaceable).

func openFile(name string, flag int, mode fs.FileMode) (f *os.File, err error) {
	private := flag&os.O_CREATE != 0 && mode&0o077 == 0
	err = patiently(func() error {
		if private {
			f, err = createPrivate(name, flag)
			if flag&os.O_EXCL != 0 || !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		if !filepath.IsLocal(filepath.Base(name)) { // a device, such as nul, which the methods of os.Root refuse
			f, err = os.OpenFile(name, flag, mode)
			return err
		}
		return within(filepath.Dir(name), func(dir *os.Root) error {
			f, err = dir.OpenFile(filepath.Base(name), flag, mode)
			return err
		})
	})
	return f, err
}

// createPrivate creates a file whose access control list permits only the user of this process. It fails if the file
// exists. Modes have no meaning on Windows, and a file without its own list inherits the list of its directory. File
// systems without such lists, such as exFAT, ignore the list.
func createPrivate(name string, flag int) (*os.File, error) {
	only, err := onlyUser()
	if err != nil {
		return nil, &fs.PathError{Op: "restrict access to", Path: name, Err: err}
	}
	access := uint32(windows.FILE_GENERIC_WRITE)
	if flag&os.O_APPEND != 0 {
		access &^= windows.FILE_WRITE_DATA
	}
	if flag&os.O_RDWR != 0 {
		access |= windows.FILE_GENERIC_READ
	}
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	h, err := windows.CreateFile(path, access, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, only, windows.CREATE_NEW, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(h), name), nil
}

// onlyUser returns the attributes of a file that only the user of this process can open.
func onlyUser() (*windows.SecurityAttributes, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, err
	}
	full := windows.EXPLICIT_ACCESS{
		AccessPermissions: windows.FILE_GENERIC_READ | windows.FILE_GENERIC_WRITE | windows.FILE_GENERIC_EXECUTE | windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER,
		AccessMode:        windows.SET_ACCESS,
		Trustee:           windows.TRUSTEE{TrusteeForm: windows.TRUSTEE_IS_SID, TrusteeValue: windows.TrusteeValueFromSID(user.User.Sid)},
	}
	list, err := windows.ACLFromEntries([]windows.EXPLICIT_ACCESS{full}, nil)
	if err != nil {
		return nil, err
	}
	only, err := windows.NewSecurityDescriptor()
	if err != nil {
		return nil, err
	}
	err = errors.Join(only.SetDACL(list, true, false), only.SetControl(windows.SE_DACL_PROTECTED, windows.SE_DACL_PROTECTED))
	return &windows.SecurityAttributes{Length: uint32(reflect.TypeFor[windows.SecurityAttributes]().Size()), SecurityDescriptor: only}, err
}

func readFile(name string) (data []byte, err error) {
	err = patiently(func() error {
		data, err = os.ReadFile(name)
		return err
	})
	return data, err
}

// rename renames a file or directory. It waits for programs that hold files of a renamed directory open, such as a
// virus scanner that reads a new program. For such a directory, Windows reports that access is denied.
func rename(from, to string) error {
	busy := slices.Clone(open)
	if info, err := os.Lstat(from); err == nil && info.IsDir() {
		busy = append(busy, windows.ERROR_ACCESS_DENIED)
	}
	return patiently(func() error {
		if filepath.Dir(from) != filepath.Dir(to) {
			return os.Rename(from, to)
		}
		err := within(filepath.Dir(from), func(dir *os.Root) error { return dir.Rename(filepath.Base(from), filepath.Base(to)) })
		if refused(err) {
			return os.Rename(from, to)
		}
		return err
	}, busy...)
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
	err := patiently(func() error { return os.RemoveAll(name) })
	if !refused(err) {
		return err
	}
	entries, err := os.ReadDir(name) // returns an error for a file, and for a link whose target does not exist
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

// unreplaceable reports whether a rename failed because the target is open: this process has locked it, or another
// program reads it, such as a virus scanner.
func unreplaceable(err error) bool {
	return is(err, windows.ERROR_ACCESS_DENIED, windows.ERROR_SHARING_VIOLATION)
}

// patience is the maximum time that the function patiently waits for a program that holds a file open. Virus scanners
// need less.
const patience = 2 * time.Second

// open are the errors for a file that another program holds open.
var open = []windows.Errno{windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION}

// patiently repeats an operation while its error is one of the errors in busy, but no longer than patience. If busy is
// empty, the errors are the errors in open.
func patiently(do func() error, busy ...windows.Errno) error {
	if busy == nil {
		busy = open
	}
	for wait, waited := 10*time.Millisecond, time.Duration(0); ; wait *= 2 {
		err := do()
		if waited += wait; !is(err, busy...) || waited > patience {
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
