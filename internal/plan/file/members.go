package file

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// members are the members of the zip archive of a saved plan.
type members struct {
	files map[string]*zip.File
	order []string          // names, in the order of the archive
	data  map[string][]byte // the uncompressed contents of members, by name
	whole []byte            // the bytes of the whole archive
}

// open finds the members of an archive without inflating them. It returns a diagnostic if data is not an archive, if
// the archive has too many members or two with one name, or if the member tfplan is missing. name is the name of the
// plan file, for the message.
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

// noArchive returns the error for a file that is not a zip archive. If the name has the extension of a configuration or
// variables file, the error describes how to pass such a file.
func noArchive(name string) *diag.Diagnostic {
	is, instead := "configuration", "A plan reads all files of a directory. Remove the argument to use the working directory, or select another directory with the global option -chdir."
	switch path.Ext(strings.TrimSuffix(name, ".json")) {
	case ".tf", ".tofu", ".lethe":
	case ".tfvars":
		is, instead = "a file of variables", "Pass it to the plan with -var-file."
	default:
		return broken("it is not a complete zip archive")
	}
	d := diag.Errorf(badFile, "is not a saved plan: it is %s. %s", is, instead)
	return &d
}

// format is the version of the form of saved plans. Read rejects every other version.
const format = "15"

// firstLine returns the first line of the member tfplan: the format, and program, the version of Lethe that writes the
// plan. The rest of the member is the plan as JSON (body.go).
func firstLine(program string) string { return "lethe plan v" + format + " " + program + "\n" }

// header reads the first line of the plan. It returns contents with the version of the program that wrote the plan, and
// the offset of the body. header returns a diagnostic if the member has another first line or another format.
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
		d := diag.Errorf(badProgram, "is a saved plan of another program, such as Terraform or OpenTofu. Use the program that created it, or make a plan with Lethe.")
		return nil, 0, &d
	}
	version, program, _ := strings.Cut(rest, " ")
	if !complete || program == "" {
		return nil, 0, broken("its member %q has an invalid beginning", memberPlan)
	}
	if version != format {
		d := diag.Errorf(badProgram, "was created by Lethe v%s in version %s of the plan format, and this version of Lethe supports version %s. Use the version of Lethe that created the plan, or make a new plan.", program, version, format)
		return nil, 0, &d
	}
	return &Contents{Version: program}, len(line) + 1, nil
}

// inflate reads all members into m.data. It returns a diagnostic if a required member is missing, if a member cannot be
// read, or if the sizes exceed maxTotal or maxRatio. It returns nil otherwise. The previous state is not read if it
// equals the refreshed state: then m.data lacks it.
func (m *members) inflate() *diag.Diagnostic {
	for _, name := range []string{memberValues, memberState, memberPrev, memberList, memberLock} {
		if m.files[name] == nil {
			return broken("its member %q is missing", name)
		}
	}
	total, most := uint64(0), uint64(len(m.whole))
	for _, name := range m.order {
		f := m.files[name]
		compressed, size := f.CompressedSize64, f.UncompressedSize64
		if total += size; size > maxTotal || total > maxTotal || compressed > most || total/maxRatio > most || tooDense(compressed, size) {
			return broken("its member %q would inflate from %d to %d bytes", name, compressed, size)
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

// alike reports whether two members have equal compressed bytes, and so equal contents.
func (m *members) alike(a, b string) bool {
	x, y := m.files[a], m.files[b]
	return x.Method == y.Method && x.CRC32 == y.CRC32 && x.UncompressedSize64 == y.UncompressedSize64 && bytes.Equal(m.compressed(x), m.compressed(y))
}

// compressed returns the compressed bytes of a member, without a copy. It returns nil if the header of the member names
// a place outside the archive.
func (m *members) compressed(f *zip.File) []byte {
	at, err := f.DataOffset()
	if most := uint64(len(m.whole)); err != nil || uint64(at) > most || f.CompressedSize64 > most-uint64(at) {
		return nil
	}
	return m.whole[at : uint64(at)+f.CompressedSize64 : uint64(at)+f.CompressedSize64]
}

// read reads one member. If the member is not compressed, the result shares the archive's memory. read returns an error
// if the member is damaged.
func (m *members) read(f *zip.File) ([]byte, error) {
	data := m.compressed(f)
	if f.Method != zip.Store || uint64(len(data)) != f.UncompressedSize64 {
		return inflate(f)
	}
	if crc32.ChecksumIEEE(data) != f.CRC32 {
		return nil, zip.ErrChecksum
	}
	return data, nil
}

// inflate decompresses one member. It returns an error if the member is damaged, or longer or shorter than its header
// says.
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
		return nil, errors.New("it is longer than its header says")
	case err != io.EOF:
		return nil, err
	}
	return data, nil
}

// config returns the modules of the configuration with their files. If the list of modules cannot be read or has a
// module twice, or if a member is not listed or has an invalid name, config returns a diagnostic.
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
		plain, err := url.PathUnescape(file)
		if !inside || !listed || !plainPath(key, file) || err != nil || memberName(plain) != file {
			return nil, broken("it has an unexpected member %q", name)
		}
		modules[i].Files[plain] = m.data[name]
	}
	return modules, nil
}

// schemas returns the saved schemas by provider; nil if the plan has no schemas. If the name of a schema member is not
// the address of a provider, it returns a diagnostic.
func (m *members) schemas() (map[addr.Provider][]byte, *diag.Diagnostic) {
	var out map[addr.Provider][]byte
	for _, name := range m.order {
		source, inside := strings.CutPrefix(name, schemaDir)
		if !inside {
			continue
		}
		p, err := addr.ParseProvider(source)
		if err != nil || p.String() != source {
			return nil, broken("it has an unexpected member %q", name)
		}
		if out == nil {
			out = map[addr.Provider][]byte{}
		}
		out[p] = m.data[name]
	}
	return out, nil
}
