package disktest

import (
	"fmt"
	"regexp"
	"sync"

	"golang.org/x/sys/windows"
)

// Modes is true if files have the modes of Unix.
const Modes = false

// trustees matches the account of each entry in the text of an access control list.
var trustees = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`;;;([^)]*)\)`) })

// Private returns an error if another user than the owner can read the file at path. The system (SY) and the
// administrators (BA) may read it, because they can read every file: Wine lists the system in every access control
// list.
func Private(path string) error {
	security, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	for _, entry := range trustees().FindAllStringSubmatch(security.String(), -1) {
		if who := entry[1]; who != "SY" && who != "BA" && who != user.User.Sid.String() {
			return fmt.Errorf("the access control list of %s permits %s: %s", path, who, security)
		}
	}
	return nil
}
