package disktest

import (
	"fmt"
	"regexp"
	"sync"

	"golang.org/x/sys/windows"
)

// Modes reports whether files have the permission bits of Unix.
const Modes = false

// trustees matches the end of each entry in the text of an access control list. The group is the account.
var trustees = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`;;;([^)]*)\)`) })

// Private returns an error if the access control list of the file at path has an entry for another account than the
// present user, the system (SY) or the administrators (BA). The last two can read every file anyway, and Wine lists the
// system in every access control list.
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
