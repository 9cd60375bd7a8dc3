package cli_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/lethe-iac/lethe/internal/provider/keeper"
	"github.com/rogpeppe/go-internal/testscript"
)

// A place is an unusual directory, or an unusual way to call the program, with which scripts run again.
type place struct {
	name string
	// root creates the parent of the script's directory. If it is nil, the default is used.
	root func(t *testing.T) string
	// setup changes the start of the script after its files are written. It may be nil.
	setup func(t *testing.T, e *testscript.Env) error
}

var places = []place{
	{name: "chdir", setup: func(t *testing.T, e *testscript.Env) error {
		e.Setenv(called, "chdir")
		return nil
	}},
	{name: "link", setup: func(t *testing.T, e *testscript.Env) error {
		e.Cd = filepath.Join(temporary(t), "link")
		return os.Symlink(e.WorkDir, e.Cd)
	}},
	{name: "below a link", setup: belowLink},
	{name: "without PWD", setup: func(t *testing.T, e *testscript.Env) error {
		e.Setenv(called, "bare")
		return nil
	}},
	{name: "odd name", root: func(t *testing.T) string {
		dir := filepath.Join(temporary(t), "a 'b\" \xfe e\u0301")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skip(err) // the file system accepts only UTF-8
		}
		return dir
	}},
	{name: "read-only parent", root: func(t *testing.T) string { return temporary(t) }, setup: readOnly},
	{name: "other device", setup: func(t *testing.T, e *testscript.Env) error {
		dir, err := os.MkdirTemp("/dev/shm", "lethe-")
		if err != nil {
			t.Skip(err)
		}
		e.Defer(func() { os.RemoveAll(dir) })
		e.Setenv("TMPDIR", dir)
		return nil
	}},
}

// temporary creates a directory with a plain name. The directory of a test contains a #, which sources of modules do
// not accept.
func temporary(t *testing.T) string {
	dir, err := os.MkdirTemp("", "place-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// called is the environment variable that tells how a script calls the program: "bare" (without PWD), "chdir" (from the
// root directory, with -chdir) or "jump" (with -chdir through the symbolic link in the variable jump).
const called = "LETHE_TEST_CALLED"

// jump is the environment variable with the path of a symbolic link to a directory beside the directory of the script.
const jump = "LETHE_TEST_JUMP"

// belowLink runs a script below a symbolic link. The program is called with a path through another symbolic link,
// followed by "..", the parent of the target of this link.
func belowLink(t *testing.T, e *testscript.Env) error {
	dir, root := temporary(t), filepath.Dir(e.WorkDir)
	e.Cd = filepath.Join(dir, "link", filepath.Base(e.WorkDir))
	e.Setenv(called, "jump")
	e.Setenv(jump, filepath.Join(dir, "jump"))
	beside, err := os.MkdirTemp(root, "beside-")
	if err == nil {
		err = os.Symlink(beside, filepath.Join(dir, "jump"))
	}
	if err == nil {
		err = os.Symlink(root, filepath.Join(dir, "link"))
	}
	e.Setenv("TF_CLI_CONFIG_FILE", filepath.Join(dir, "jump")+"/../"+filepath.Base(e.WorkDir)+"/.rc")
	return err
}

// readOnly makes the parent of the script's directory read-only. Root can write anyway, so a check follows after the
// script.
func readOnly(t *testing.T, e *testscript.Env) error {
	root := filepath.Dir(e.WorkDir)
	t.Cleanup(func() { os.Chmod(root, 0o755) })
	e.Defer(func() {
		if list, err := os.ReadDir(root); err != nil || len(list) != 1 {
			t.Errorf("there is something beside the directory of the script: %s, %v", list, err)
		}
	})
	return os.Chmod(root, 0o555)
}

// calledFrom returns the arguments and the working directory of the program, according to the variable called.
func calledFrom(args []string) ([]string, string) {
	how := os.Getenv(called)
	if how == "bare" {
		os.Unsetenv("PWD")
	}
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	if len(args) == 1 && args[0] == keeper.Argument || os.Getenv("COMP_LINE") != "" || how != "chdir" && how != "jump" {
		return args, dir
	}
	for _, name := range []string{"TF_CLI_CONFIG_FILE", "TF_LOG_PATH"} { // the paths in these variables are relative to the directory in which the program is called
		if path := os.Getenv(name); path != "" && !filepath.IsAbs(path) {
			os.Setenv(name, filepath.Join(dir, path))
		}
	}
	to, from := dir, "/"
	if how == "jump" {
		from = filepath.Dir(os.Getenv(jump))
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			panic(err)
		}
		beside, err := filepath.EvalSymlinks(os.Getenv(jump))
		if err != nil {
			panic(err)
		}
		rel, err := filepath.Rel(filepath.Dir(beside), real)
		if err != nil {
			panic(err)
		}
		to = "jump/../" + rel
	}
	if err := os.Chdir(from); err != nil {
		panic(err)
	}
	return append([]string{"-chdir=" + to}, args...), from
}

// stay lists scripts that cannot run in a place, with the reason.
var stay = []struct {
	place, reason string
	scripts       []string
}{
	{"odd name", "a file of configuration or a shell gets the name of the directory, and neither takes all bytes", []string{
		"test/installed", "provisioners/remote", "modules/call_themselves_from_elsewhere", "json/init_lines", "cli/dev_overrides",
		"init/vendor_tests", "init/registry_module", "init/vendor", "init/offline", "init/modules_locked_after_peer", "init/modules_locked",
		"init/modules_installed_and_upgraded", "init/modules_changed", "init/lock_file", "init/login", "cli/complete_fish", "directories/linked_module", "init/backend_before_modules",
	}},
	{"chdir", "it says where path.cwd is", []string{"directories/linked"}},
	{"without PWD", "path.cwd follows PWD", []string{"directories/linked"}},
	{"below a link", "it says where path.cwd is", []string{"directories/linked"}},
}

// stays reports whether a script cannot run in a place.
func stays(place string, s script) bool {
	for _, why := range stay {
		if why.place == place && slices.Contains(why.scripts, s.folder+"/"+s.name) {
			return true
		}
	}
	return false
}

// numberOf returns a hash of the script's folder and name, which selects the place in which the script runs.
func numberOf(s script) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, s.folder, "/", s.name)
	return h.Sum32()
}

// testPlaces runs scripts again from other directories, and called in other ways. Their results must not change. Each
// run of the tests takes a part of the scripts, each in one place that is chosen by its name. LETHE_LONG=1 runs all
// scripts in all places, and LETHE_PLACE runs all scripts in the place that it names.
func testPlaces(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links and other names of directories")
	}
	p := params(setup)
	p.Cmds["sshd"] = sshd(t)
	servers(t, p)
	list := scripts(t)
	runs, n := map[string][]script{}, 0
	add := func(in place, s script) bool {
		if stays(in.name, s) {
			return false
		}
		runs[in.name] = append(runs[in.name], s)
		n++
		return true
	}
	folders := map[string]bool{}
	for _, s := range list {
		h := int(numberOf(s))
		for i, in := range places {
			switch only := os.Getenv("LETHE_PLACE"); {
			case only != "" && only != in.name:
			case only != "" || os.Getenv("LETHE_LONG") != "", h%len(places) == i && h/len(places)%4 == 0:
				folders[s.folder] = add(in, s) || folders[s.folder]
			}
		}
	}
	for _, s := range list {
		if !folders[s.folder] {
			folders[s.folder] = add(places[int(numberOf(s))%len(places)], s)
		}
	}
	if n < 200 {
		t.Errorf("%d scripts run, and there should be 200", n)
	}
	if len(runs) < len(places) && os.Getenv("LETHE_PLACE") == "" {
		t.Errorf("scripts run in %d places of %d", len(runs), len(places))
	}
	for _, in := range places {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			for _, s := range runs[in.name] {
				t.Run(s.folder, func(t *testing.T) {
					t.Parallel()
					p := p
					p.Files = []string{s.file}
					if in.root != nil {
						p.WorkdirRoot = in.root(t)
					}
					p.Setup = func(e *testscript.Env) error {
						err := setup(e)
						if err == nil && in.setup != nil {
							err = in.setup(t, e)
						}
						return err
					}
					testscript.Run(t, p)
				})
			}
		})
	}
}
