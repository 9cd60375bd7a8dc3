package state

import (
	"bytes"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// Read reads a state file of format 4. The snapshot keeps parts of data, which must not be changed afterwards.
//
// Nothing is ever dropped in silence: a field that cannot be understood is an error, and so is a file
// that is empty or cut off. (That there is no file at all is for the caller to know: both peers
// take an empty file for an empty state and create everything a second time.)
func Read(data []byte, bag *diag.Bag) (*Snapshot, bool) {
	if len(bytes.TrimSpace(data)) == 0 {
		bag.Add(diag.Errorf(badEmpty, "The state file has no content. A state file is never empty, not even one without resources, so this one was probably cut off while it was written. Nothing was changed; restore the file from a backup or, if there never was a state, delete it."))
		return nil, false
	}
	if is := Converted(data); is != "" {
		bag.Add(diag.Errorf(badFormat, "The state file %s, as some editors and shells write files: a state is in UTF-8 without a byte order mark. Nothing was changed; save the file in that encoding, or restore it from a backup.", is))
		return nil, false
	}
	r := newReader(data, bag)
	r.file()
	if !r.finish() {
		return nil, false
	}
	r.snap.source = data
	r.snap.derived = &derived{}
	return r.snap, true
}

// Converted says how a state is encoded that nothing which keeps states has written.
func Converted(data []byte) string {
	switch {
	case syntax.Wide(data):
		return "is in UTF-16"
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return "begins with a byte order mark"
	}
	return ""
}

func newReader(data []byte, bag *diag.Bag) *reader {
	r := &reader{Scanner: jsontext.Scanner{In: data}, names: newNames(), bag: bag}
	r.fields.reader = r
	r.onBlock, r.onInstance, r.onField = r.blockField, r.instance, r.fields.read
	return r
}

// file reads the top level.
func (r *reader) file() {
	r.snap = &Snapshot{Outputs: map[string]Output{}, resources: map[addr.AbsResource]*Resource{}}
	r.seen, r.later = map[string]bool{}, map[string]int{}
	if r.Peek() != '{' {
		r.Expected("an object")
	}
	r.Object(func(key []byte) {
		if r.unique(key) {
			r.top(string(key))
		}
	})
	if r.Err == nil && r.Peek() != 0 {
		r.Fail("there is more text after the end of the state")
	}
	if r.Err != nil || r.broken || !r.supported() {
		return
	}
	r.postponed()
	r.snap.Extra = r.extra.object()
}

// unique reports a name that stands twice in the top level.
func (r *reader) unique(key []byte) bool {
	if r.seen[string(key)] {
		r.problem(r.Pos, badContent, "It has the field %q twice, and the two may contradict each other.", key)
		r.Skip()
		return false
	}
	r.seen[string(key)] = true
	return true
}

func (r *reader) top(key string) {
	switch key {
	case "version":
		r.version, r.hasVersion = r.Uint(), r.Err == nil
	case "terraform_version":
		r.snap.Version = validText(r.Text())
	case "serial":
		r.snap.Serial = r.Uint()
	case "lineage":
		r.snap.Lineage = validText(r.Text())
	case "outputs", "resources", "check_results", "modules":
		if r.version != 4 {
			r.Peek()
			r.later[key] = r.Pos
			r.Skip()
			return
		}
		r.body(key)
	default:
		r.extra.add(key, r.Scanner.Raw())
	}
}

// body reads one of the large fields of format 4.
func (r *reader) body(key string) {
	switch key {
	case "outputs":
		r.Object(r.output)
	case "resources":
		r.Array(r.resourceBlock)
	case "check_results":
		r.checks()
	case "modules":
		r.problem(r.Pos, badContent, "The file says that it has format version 4, but has the field \"modules\" of version 3. It was probably edited by hand.")
		r.Skip()
	}
}

// postponed reads what came before the version.
func (r *reader) postponed() {
	for _, key := range []string{"outputs", "resources", "check_results"} {
		if pos, ok := r.later[key]; ok && r.Err == nil {
			r.Pos = pos
			r.body(key)
		}
	}
}

// supported reports whether the file is of a version that can be read, and says why not.
func (r *reader) supported() bool {
	by := ""
	if r.snap.Version != "" {
		by = fmt.Sprintf(" It was written by version %s of the program that made it.", r.snap.Version)
	}
	detail := ""
	switch {
	case r.seen["encrypted_data"] && r.seen["encryption_version"]:
		r.bag.Add(diag.Errorf(badEncrypted, "The state is encrypted, and no encryption is configured for it here. Configure the same key provider and method that it was written with."))
		r.broken = true
		return false
	case !r.hasVersion:
		detail = "The state file does not have a \"version\" attribute, which is required to identify the format version."
	case r.version > 4:
		detail = fmt.Sprintf("The state file uses format version %d, which is newer than the versions up to 4 that are supported.%s Use a newer version of Lethe.", r.version, by)
	case r.version < 4:
		detail = fmt.Sprintf("The state file uses format version %d.%s Only version 4 can be read: let Terraform 0.12 or later rewrite it first (\"terraform refresh\"), which makes it version 4. A file older than version 3 has to go through Terraform 0.11 in the same way before.", r.version, by)
	default:
		return true
	}
	r.bag.Add(diag.Errorf(badFormat, "%s", detail))
	r.broken = true
	return false
}
