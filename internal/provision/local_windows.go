package provision

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// verbatim passes the command to cmd.exe unchanged. exec.Command escapes quotes by the rules of C programs, which
// cmd.exe does not know: it would print the backslashes of `echo "a b"`. With /S, cmd.exe removes exactly the outer
// quotes. For other interpreters, verbatim does nothing.
func verbatim(cmd *exec.Cmd) {
	name, last := strings.ToLower(filepath.Base(cmd.Args[0])), len(cmd.Args)-1
	if name != "cmd" && name != "cmd.exe" || last < 2 || !strings.EqualFold(cmd.Args[last-1], "/C") {
		return
	}
	var line strings.Builder
	for _, arg := range cmd.Args[:last-1] {
		line.WriteString(syscall.EscapeArg(arg) + " ")
	}
	line.WriteString(`/S /C "` + cmd.Args[last] + `"`)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CmdLine = line.String()
}
