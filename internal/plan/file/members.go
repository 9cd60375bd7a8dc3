package file

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// members are what is in an archive.
type members struct {
	files map[string]*zip.File
	order []string
	data  map[string][]byte
	whole []byte // the archive
}

// open finds the members without inflating any.
func open(name string, data []byte) (*members, *diag.Diagnostic) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if errors.Is(err, zip.ErrFormat) {
		return nil, noArchive(name)
	}
	if err != nil {
		return nil, broken("its directory cannot be read: %s", err)
	}
	m := &members{files: map[string]*zip.File{}, data: map[string][]byte{}, whole: data}
	if len(z.File) > maxMembers {
		return nil, broken("it has %d members", len(z.File))
	}
	for _, f := range z.File {
		if m.files[f.Name] != nil {
			return nil, broken("it has two members with the name %q", f.Name)
		}
		m.files[f.Name] = f
		m.order = append(m.order, f.Name)
	}
	if m.files[memberPlan] == nil {
		return nil, broken("it is a zip archive, but has no member %q", memberPlan)
	}
	return m, nil
}

// noArchive says what is wrong with a file that is no archive. By mistake it is one that the plan would be made from.
func noArchive(name string) *diag.Diagnostic {
	is, instead := "configuration", "Configuration is planned from all files of a directory: leave the file out for the working directory, or name another one with the global option -chdir."
	switch path.Ext(strings.TrimSuffix(name, ".json")) {
	case ".tf", ".tofu":
	case ".tfvars":
		is, instead = "a file of variables", "Give it to a plan, with -var-file."
	default:
		return broken("it is not a zip archive, as saved plans are, or only the beginning of one")
	}
	d := diag.Errorf(badFile, "cannot be used as a saved plan: it is %s, and saved plans are zip archives. %s", is, instead)
	return &d
}

// format is the version of what body.go says.
const format = "8"

// firstLine begins the member tfplan. The rest of it is what body.go says.
func firstLine(program string) string { return "lethe plan v" + format + " " + program + "\n" }

// header reads the first line of the plan: which program wrote it, and where the rest begins.
func (m *members) header() (*Contents, int, *diag.Diagnostic) {
	r, err := m.files[memberPlan].Open()
	if err != nil {
		return nil, 0, broken("its member %q cannot be read: %s", memberPlan, err)
	}
	defer r.Close()
	start, err := io.ReadAll(io.LimitReader(r, 200))
	if err != nil {
		return nil, 0, broken("its member %q cannot be read: %s", memberPlan, err)
	}
	line, _, complete := strings.Cut(string(start), "\n")
	rest, ours := strings.CutPrefix(line, "lethe plan v")
	if !ours {
		d := diag.Errorf(badProgram, "is a saved plan of another program, such as Terraform or OpenTofu. A saved plan can be applied only by the program that made it: use that one, or make a plan with Lethe.")
		return nil, 0, &d
	}
	version, program, _ := strings.Cut(rest, " ")
	if !complete || program == "" {
		return nil, 0, broken("its member %q begins in a way that makes no sense", memberPlan)
	}
	if version != format {
		d := diag.Errorf(badProgram, "was made by Lethe v%s, in version %s of the plan format; this version of Lethe knows version %s. Use the version of Lethe that made the plan, or make a new plan.", program, version, format)
		return nil, 0, &d
	}
	return &Contents{Version: program}, len(line) + 1, nil
}

// inflate reads all members, within limits.
func (m *members) inflate() *diag.Diagnostic {
	for _, name := range []string{memberValues, memberState, memberPrev, memberList, memberLock} {
		if m.files[name] == nil {
			return broken("its member %q is missing", name)
		}
	}
	total, most := uint64(0), uint64(len(m.whole))
	for _, name := range m.order {
		f := m.files[name]
		packed, size := f.CompressedSize64, f.UncompressedSize64
		if total += size; size > maxTotal || total > maxTotal || packed > most || total/maxRatio > most || tooDense(packed, size) {
			return broken("its member %q would inflate from %d to %d bytes", name, packed, size)
		}
		if name == memberPrev && m.alike(memberPrev, memberState) {
			continue
		}
		data, err := m.read(f)
		if err != nil {
			return broken("its member %q cannot be read: %s", name, err)
		}
		m.data[name] = data
	}
	return nil
}

// alike reports that two members are the same byte for byte, as they are in the archive.
func (m *members) alike(a, b string) bool {
	x, y := m.files[a], m.files[b]
	return x.Method == y.Method && x.CRC32 == y.CRC32 && x.UncompressedSize64 == y.UncompressedSize64 && bytes.Equal(m.packed(x), m.packed(y))
}

// packed is a member as it is in the archive; nil if it is not in there.
func (m *members) packed(f *zip.File) []byte {
	at, err := f.DataOffset()
	if most := uint64(len(m.whole)); err != nil || uint64(at) > most || f.CompressedSize64 > most-uint64(at) {
		return nil
	}
	return m.whole[at : uint64(at)+f.CompressedSize64 : uint64(at)+f.CompressedSize64]
}

// read reads one member: where it is, if it was stored as it is.
func (m *members) read(f *zip.File) ([]byte, error) {
	data := m.packed(f)
	if f.Method != zip.Store || uint64(len(data)) != f.UncompressedSize64 {
		return inflate(f)
	}
	if crc32.ChecksumIEEE(data) != f.CRC32 {
		return nil, zip.ErrChecksum
	}
	return data, nil
}

// inflate reads one member, which is not larger than its header says.
func inflate(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data := make([]byte, f.UncompressedSize64)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	switch n, err := r.Read(make([]byte, 1)); {
	case n > 0:
		return nil, errors.New("it is longer than it says")
	case err != io.EOF:
		return nil, err
	}
	return data, nil
}

// config puts the configuration together again.
func (m *members) config() ([]ConfigModule, *diag.Diagnostic) {
	var list []moduleJSON
	if err := json.Unmarshal(m.data[memberList], &list); err != nil {
		return nil, broken("its member %q cannot be read: %s", memberList, err)
	}
	modules := make([]ConfigModule, len(list))
	at := map[string]int{}
	for i, x := range list {
		if _, twice := at[x.Key]; twice {
			return nil, broken("it lists the module %q twice", x.Key)
		}
		at[x.Key] = i
		modules[i] = ConfigModule{Key: x.Key, Source: x.Source, Version: x.Version, Dir: x.Dir, Led: x.Led, Files: map[string][]byte{}}
	}
	for _, name := range m.order {
		switch name {
		case memberPlan, memberValues, memberState, memberPrev, memberList, memberLock:
			continue
		}
		if strings.HasPrefix(name, schemaDir) {
			continue
		}
		rest, inside := strings.CutPrefix(name, configDir)
		key, file, _ := strings.Cut(rest, "/")
		i, listed := at[key]
		if !inside || !listed || !plainPath(key, file) {
			return nil, broken("it has a member %q, which does not belong there", name)
		}
		modules[i].Files[file] = m.data[name]
	}
	return modules, nil
}

// schemas gives how providers describe themselves.
func (m *members) schemas() (map[addr.Provider][]byte, *diag.Diagnostic) {
	var out map[addr.Provider][]byte
	for _, name := range m.order {
		source, inside := strings.CutPrefix(name, schemaDir)
		if !inside {
			continue
		}
		p, err := addr.ParseProvider(source)
		if err != nil || p.String() != source {
			return nil, broken("it has a member %q, which does not belong there", name)
		}
		if out == nil {
			out = map[addr.Provider][]byte{}
		}
		out[p] = m.data[name]
	}
	return out, nil
}
