package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A kase is one case: its commands and the expected result.
type kase struct {
	name  string // AREA/FILE/CASE
	file  string // the archive that contains it
	short string // its name in the archive
	set   settings
	steps []files // most cases have one; each replaces the configuration of the previous step
	want  string  // the expected result of Lethe
	peer  string  // the expected result of Terraform, if it differs
}

// files maps slash-separated paths to contents.
type files map[string]string

// settings are the lines of a case's `run` file.
type settings struct {
	vars      []string // -var and -var-file, in order
	env       []string
	args      []string // further arguments of plan and apply
	dir       string   // the working directory inside the case; "" for its top
	stop      string   // the last command to run: init, validate, plan, or apply (default)
	planned   bool     // show the planned outputs, too
	changes   bool     // show the number of changes
	providers bool     // needs the playground providers
	bomb      bool     // must end in seconds and with little memory; its files may repeat text
	sparse    string   // a file of many zeros: NAME SIZE, with the size in bytes; "" for none
	crlf      []string // files to be written with CRLF
	bom       []string // files to be written with a byte order mark
	absent    string   // the reason why the peer cannot run it
	differs   string   // the reason why the peer's result differs
	hclOnly   string   // the reason why it has no JSON form
}

// read parses a `run` file: one setting on each line, empty lines, and comments that begin with "# ". An unknown
// setting is an error.
func (s *settings) read(text string) error {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "", "#":
		case "var":
			s.vars = append(s.vars, "-var", rest)
		case "var-file":
			s.vars = append(s.vars, "-var-file", rest)
		case "env":
			s.env = append(s.env, rest)
		case "args":
			s.args = append(s.args, strings.Fields(rest)...)
		case "dir":
			s.dir = rest
		case "stop":
			s.stop = rest
		case "plan":
			s.planned = true
		case "changes":
			s.changes = true
		case "providers":
			s.providers = true
		case "bomb":
			s.bomb = true
		case "sparse":
			s.sparse = rest
		case "crlf":
			s.crlf = append(s.crlf, strings.Fields(rest)...)
		case "bom":
			s.bom = append(s.bom, strings.Fields(rest)...)
		case "absent":
			s.absent = rest
		case "differs":
			s.differs = rest
		case "hcl-only":
			s.hclOnly = rest
		default:
			return fmt.Errorf("unknown setting %q", word)
		}
	}
	return nil
}

// load reads all cases of the archives AREA/FILE.txtar in a folder, in the order of the archives' names.
func load(t *testing.T, root string) []*kase {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join(root, "*", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*kase
	for _, file := range archives {
		all = append(all, readArchive(t, root, file)...)
	}
	return all
}

// readArchive reads the cases of an archive, in the order of the archive. Their names begin with the path of the
// archive relative to root.
func readArchive(t *testing.T, root, file string) []*kase {
	t.Helper()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(root, file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(ar.Comment)) == "" {
		t.Errorf("%s: the first lines must say what it shows", file)
	}
	area := strings.TrimSuffix(filepath.ToSlash(rel), ".txtar")
	var all []*kase
	byName := map[string]*kase{}
	for _, f := range ar.Files {
		short, path, ok := strings.Cut(f.Name, "/")
		if !ok {
			t.Fatalf("%s: %s is in no case", file, f.Name)
		}
		k := byName[short]
		if k == nil {
			k = &kase{name: area + "/" + short, file: file, short: short}
			byName[short] = k
			all = append(all, k)
		} else if all[len(all)-1] != k {
			t.Errorf("%s: the files of %s do not stand together", file, short)
		}
		if err := k.add(path, string(f.Data)); err != nil {
			t.Fatalf("%s: %s: %v", file, f.Name, err)
		}
	}
	return all
}

// add adds a file to the case: settings, an expected result, or a file of the configuration. A file in a folder 1 to 9
// belongs to that step, and any other file to step 1. An unknown setting is an error.
func (k *kase) add(path, text string) error {
	switch path {
	case "run":
		return k.set.read(text)
	case "want":
		k.want = text
		return nil
	case "peer":
		k.peer = text
		return nil
	}
	step := 0
	if first, rest, ok := strings.Cut(path, "/"); ok && len(first) == 1 && first[0] >= '1' && first[0] <= '9' {
		step, path = int(first[0]-'1'), rest
	}
	for len(k.steps) <= step {
		k.steps = append(k.steps, files{})
	}
	k.steps[step][path] = text
	return nil
}

// repeated matches text to be written many times, in the files of bombs: <<1000 times>>text<<end>>. In the text, # is
// the number of the repetition and #+1 the next number.
var repeated = regexp.MustCompile(`(?s)<<(\d+) times>>(.*?)<<end>>`)

// expand repeats the text between repetition marks.
func expand(text string) string {
	return repeated.ReplaceAllStringFunc(text, func(m string) string {
		parts := repeated.FindStringSubmatch(m)
		n, err := strconv.Atoi(parts[1])
		if err != nil {
			return m
		}
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.NewReplacer("#+1", strconv.Itoa(i+1), "#", strconv.Itoa(i)).Replace(parts[2]))
		}
		return b.String()
	})
}

// bytes returns the contents of a file for the disk: in bombs with repeated text, and with the line ends and the byte
// order mark of the settings.
func (s *settings) bytes(path, text string) []byte {
	if slices.Contains(s.crlf, path) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if slices.Contains(s.bom, path) {
		text = "\ufeff" + text
	}
	if s.bomb {
		text = expand(text)
	}
	return []byte(text)
}

// runsOnPeer reports whether Terraform has the features of the case.
func (k *kase) runsOnPeer() bool { return k.set.absent == "" }

// expectedOfPeer returns the expected result of Terraform.
func (k *kase) expectedOfPeer() string {
	if k.set.differs != "" {
		return k.peer
	}
	return k.want
}

// record writes results into an archive. got has the texts of `want` or `peer` files, keyed by file name with the name
// of the case. Each replaces the file with that name, and becomes the last file of its case.
func record(file string, got map[string]string) error {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		return err
	}
	out := &txtar.Archive{Comment: ar.Comment}
	for _, f := range ar.Files {
		if _, ok := got[f.Name]; !ok {
			out.Files = append(out.Files, f)
		}
	}
	for _, name := range slices.Sorted(keys(got)) {
		short, _, _ := strings.Cut(name, "/")
		at := len(out.Files)
		for i, f := range out.Files {
			if strings.HasPrefix(f.Name, short+"/") {
				at = i + 1
			}
		}
		out.Files = slices.Insert(out.Files, at, txtar.File{Name: name, Data: []byte(got[name])})
	}
	return os.WriteFile(file, txtar.Format(out), 0o644)
}
