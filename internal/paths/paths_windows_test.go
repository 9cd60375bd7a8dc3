package paths

import "testing"

// TestInOfWindows checks paths without a drive, and paths with a drive and without a directory.
func TestInOfWindows(t *testing.T) {
	for path, want := range map[string]string{
		`a\b`: `C:\work\a\b`, "a/../b": `C:\work\b`, `\x`: `C:\x`, "/x/y": `C:\x\y`, `D:\x`: `D:\x`, `\\server\share\x`: `\\server\share\x`, `\\?\D:\x`: `\\?\D:\x`,
	} {
		if got := In(`C:\work`, path); got != want {
			t.Errorf("In: %s is %s", path, got)
		}
		if got := Text(`C:\work`, path); got != want {
			t.Errorf("Text: %s is %s", path, got)
		}
	}
}
