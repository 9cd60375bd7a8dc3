package provision

import (
	"os/exec"
	"testing"
)

// TestVerbatim checks that cmd.exe receives quotes without backslashes, and that other programs receive escaped
// arguments.
func TestVerbatim(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"cmd", "/C", `echo "a b" & echo c`}, `cmd /S /C "echo "a b" & echo c"`},
		{[]string{`C:\Windows\System32\CMD.EXE`, "/V:ON", "/c", `echo !X!`}, `C:\Windows\System32\CMD.EXE /V:ON /S /C "echo !X!"`},
		{[]string{"powershell", "-Command", `Write-Output "a"`}, ""},
		{[]string{"cmd", `echo "a"`}, ""},
	} {
		cmd := exec.Command(c.args[0], c.args[1:]...)
		verbatim(cmd)
		got := ""
		if cmd.SysProcAttr != nil {
			got = cmd.SysProcAttr.CmdLine
		}
		if got != c.want {
			t.Errorf("%q: %s", c.args, got)
		}
	}
	cmd := exec.Command("cmd", "/C", `echo "a b"& echo c`)
	verbatim(cmd)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "\"a b\"\r\nc\r\n" {
		t.Errorf("%q %v", out, err)
	}
}
