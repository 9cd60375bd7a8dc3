package fetch

import "testing"

// TestParseSourceOfWindows checks sources with drives and with names of servers.
func TestParseSourceOfWindows(t *testing.T) {
	for text, want := range map[string]string{
		`C:\mods\x`:                `local C:\mods\x`,
		"C:/mods/x":                "local C:/mods/x",
		"file://C:/mods/x":         `local C:\mods\x`,
		"file:///C:/mods/x":        `local C:\mods\x`,
		`\\server\share\x`:         `local \\server\share\x`,
		`git::C:\mods\x?ref=v1`:    "git file:///C:/mods/x ref v1",
		"git::file:///C:/mods/x":   "git file:///C:/mods/x",
		`git::\\server\share\repo`: "git file:////server/share/repo",
	} {
		s, err := parseSource(text, "registry.opentofu.org")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := describe(s); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestModuleDirOfDevices checks that no directory gets the name of a device.
func TestModuleDirOfDevices(t *testing.T) {
	for key, want := range map[string]string{"net": "net", "a.b": "a.b", "con": "_con", "NUL.x": "_NUL.x", "com1": "_com1", "console": "console"} {
		if got := moduleDir("d", key); got != `d\modules\`+want {
			t.Errorf("%s: %s", key, got)
		}
	}
}
