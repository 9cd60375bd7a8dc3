package paths

import (
	"path/filepath"
	"testing"
)

// TestUserDirectories checks the directories for each environment. A relative path in a variable is ignored.
func TestUserDirectories(t *testing.T) {
	home, xdg, local := t.TempDir(), t.TempDir(), t.TempDir()
	type dirs struct{ home, data, cache string }
	unix := dirs{home, filepath.Join(home, ".local", "state", "lethe"), filepath.Join(home, ".cache", "lethe")}
	for _, tt := range []struct {
		env         map[string]string
		want        dirs
		wantWindows dirs
	}{
		{env: map[string]string{}},
		{map[string]string{"HOME": home}, unix, unix},
		{map[string]string{"HOME": "relative"}, dirs{home: "relative"}, dirs{home: "relative"}},
		{map[string]string{"USERPROFILE": home}, dirs{}, unix},
		{map[string]string{"USERPROFILE": home, "LOCALAPPDATA": local}, dirs{}, dirs{home, filepath.Join(local, "lethe"), filepath.Join(local, "lethe", "cache")}},
		{map[string]string{"HOME": home, "XDG_STATE_HOME": xdg, "XDG_CACHE_HOME": xdg, "LOCALAPPDATA": local}, dirs{home, filepath.Join(xdg, "lethe"), filepath.Join(xdg, "lethe")}, dirs{home, filepath.Join(xdg, "lethe"), filepath.Join(xdg, "lethe")}},
	} {
		getenv := func(name string) string { return tt.env[name] }
		want := tt.want
		if windows {
			want = tt.wantWindows
		}
		if got := (dirs{Home(getenv), Data(getenv), Cache(getenv)}); got != want {
			t.Errorf("%v: %+v, not %+v", tt.env, got, want)
		}
	}
}

// TestTemp checks that the variable of the system names the directory for temporary files, and that there is a
// directory without the variable.
func TestTemp(t *testing.T) {
	for name, value := range map[string]string{"TMPDIR": "/x", "TEMP": `C:\x`} {
		got := Temp(func(n string) string { return map[string]string{name: value}[n] })
		if isWindows := name == "TEMP"; windows == isWindows && got != value || got == "" {
			t.Errorf("%s=%s: %q", name, value, got)
		}
	}
}
