package disk

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"
)

// TestPrivateFiles checks that the access control list of a new file with mode 0600 permits only the current user and is not
// inherited.
func TestPrivateFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "private")
	f, err := OS.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := windows.GetNamedSecurityInfo(name, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	dacl, _, err := list.DACL()
	if err != nil || dacl.AceCount != 1 {
		t.Fatalf("%v %+v", err, dacl)
	}
	t.Logf("%s %s", list, user.User.Sid)
}
