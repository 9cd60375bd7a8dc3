package file

import (
	"archive/zip"
	"compress/flate"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Limits of a saved plan, a zip archive, when Read inflates it. Write keeps the same limits, so that Read accepts every
// plan that Write wrote. For example, Write stores a member without compression if its ratio would exceed maxRatio.
const (
	maxTotal   = uint64(4 << 30) // bytes of all members together
	maxMembers = 100_000
	maxRatio   = 200     // inflated size : compressed size, of a member and of the archive
	freeSize   = 4 << 10 // bytes; members up to this size may have any ratio
)

// archive writes a zip archive that ends with a seal (digests of the bytes before it, see seal.go). It writes one
// member after the other, so that a large plan is never in memory as a whole.
type archive struct {
	out   *sealer
	zip   *zip.Writer
	when  time.Time // modification time of all members; zero: none
	total uint64    // number of bytes of the members so far, before compression
	err   error
}

func newArchive(w io.Writer, when time.Time, key []byte) *archive {
	a := &archive{out: newSealer(w, key), when: when.UTC()}
	a.zip = zip.NewWriter(a.out)
	a.err = a.zip.SetComment(strings.Repeat("0", sealSize))
	return a
}

// add writes a member, whose contents are the concatenated parts. It keeps the first error in a.err, and does nothing
// after an error.
func (a *archive) add(name string, parts ...[]byte) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	size := 0
	for _, p := range parts {
		size, h.CRC32 = size+len(p), crc32.Update(h.CRC32, crc32.IEEETable, p)
	}
	if a.total += uint64(size); a.total > maxTotal && a.err == nil {
		a.err = fmt.Errorf("the plan is too large to be saved: more than %d bytes", maxTotal)
	}
	if a.err != nil {
		return
	}
	if !a.when.IsZero() {
		h.Modified = a.when
	}
	stored := deflate(parts)
	compressed := length(stored)
	if compressed >= size || tooDense(uint64(compressed), uint64(size)) {
		stored, compressed, h.Method = parts, size, zip.Store
	}
	h.CompressedSize64 = uint64(compressed)
	h.UncompressedSize64 = uint64(size)
	var w io.Writer
	w, a.err = a.zip.CreateRaw(h)
	for _, p := range stored {
		if a.err == nil {
			_, a.err = w.Write(p)
		}
	}
}

func deflate(parts [][]byte) [][]byte {
	var b pieces
	w, _ := flate.NewWriter(&b, flate.BestSpeed) // flate.NewWriter fails only for invalid levels
	for _, p := range parts {
		w.Write(p) // writing to pieces never fails
	}
	w.Close()
	return b
}

// pieces is a buffer of several pieces. A buffer in one piece would be copied when it grows, and would need twice the
// memory then.
type pieces [][]byte

// pieceSize is the maximum size of a piece. The first pieces are smaller.
const pieceSize = 1 << 20

// Write appends p to the buffer. It never returns an error.
func (b *pieces) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		var at []byte // the last piece of the buffer
		if last := len(*b) - 1; last >= 0 {
			at = (*b)[last]
		}
		if len(at) == cap(at) {
			*b = append(*b, make([]byte, 0, min(pieceSize, max(len(p), 2*cap(at)))))
			continue
		}
		took := copy(at[len(at):cap(at)], p)
		(*b)[len(*b)-1], p = at[:len(at)+took], p[took:]
	}
	return n, nil
}

func length(parts [][]byte) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}

func tooDense(compressed, size uint64) bool { return size > freeSize && size/maxRatio > compressed }

// addConfig writes the files of the configuration. It returns an error if an archive cannot have a member with the name
// of a file.
func (a *archive) addConfig(modules []ConfigModule) error {
	list := make([]moduleJSON, len(modules))
	for i, m := range modules {
		list[i] = moduleJSON{m.Key, m.Source, m.Version, m.Dir, m.Led}
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	a.add(memberList, text)
	for _, m := range modules {
		for _, name := range slices.Sorted(maps.Keys(m.Files)) {
			member := memberName(name)
			if !plainPath(m.Key, member) {
				return fmt.Errorf("the configuration file %q of module %q cannot be saved under this name", name, m.Key)
			}
			a.add(configDir+m.Key+"/"+member, m.Files[name])
		}
	}
	return nil
}

// moduleJSON is the entry of a module in tfconfig/modules.json, a member of the archive.
type moduleJSON struct {
	Key     string `json:"Key"`
	Source  string `json:"Source,omitempty"`
	Version string `json:"Version,omitempty"`
	Dir     string `json:"Dir"`
	Led     string `json:"Led,omitempty"`
}

// memberName returns the name of a file in the archive. It percent-encodes control characters, the characters % \ and
// :, which are special on some systems, and bytes that are not UTF-8.
func memberName(name string) string {
	var b strings.Builder
	for i, c := range name {
		if width := utf8.RuneLen(c); c == utf8.RuneError && !strings.HasPrefix(name[i:], string(c)) {
			fmt.Fprintf(&b, "%%%02X", name[i])
		} else if strings.ContainsRune("%\\:", c) || c < ' ' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteString(name[i : i+width])
		}
	}
	return b.String()
}

// plainPath reports whether the path of a file of a module stays inside the directory into which a tool unpacks the
// archive.
func plainPath(key, name string) bool {
	return !strings.Contains(key, "/") && name != "." && fs.ValidPath(name) &&
		!strings.ContainsAny(key+name, "\\:\x00")
}

// end completes the archive and replaces its last bytes by the seal. It returns the first error of all writes to the
// archive.
func (a *archive) end() error {
	if a.err == nil {
		a.err = a.zip.Close()
	}
	if a.err != nil {
		return a.err
	}
	return a.out.end()
}

// Contents is a saved plan in memory, with everything that an apply needs beside the plan itself.
type Contents struct {
	Plan    *plan.Plan
	Config  []ConfigModule           // the modules of the configuration; Write and Read keep their order
	Lock    []byte                   // the dependency lock file
	Version string                   // version of the program that wrote the plan; set by Read and used by Write
	Schemas map[addr.Provider][]byte // encoded schemas of the types in the plan (provider.Schemas.Part); schemas of some providers may be missing
	Own     bool                     // set by Read: the plan is sealed with the key and has not changed since
}

// ConfigModule is one module of the configuration, with its files by name. Key is the path of the module calls, such as
// "a.b", and "" for the root module. Source and Version are the arguments of the module call, in the form of
// Terraform's modules.json.
type ConfigModule struct {
	Key, Source, Version, Dir string
	Led                       string // directory of a local module whose source has symbolic links; otherwise ""
	Files                     map[string][]byte
}

// Titles of errors about a saved plan, and names of members of the archive.
const (
	badProgram   = "Unsupported plan file"
	stale        = "Saved plan is stale"
	wrongPlace   = "Saved plan is for another workspace"
	elsewhere    = "Saved plan is for another place"
	memberPlan   = "tfplan"
	memberValues = "values"
	memberState  = "tfstate"
	memberPrev   = "tfstate-prev"
	memberList   = "tfconfig/modules.json"
	memberLock   = ".terraform.lock.hcl"
	configDir    = "tfconfig/m-"
	schemaDir    = "schemas/"
)
