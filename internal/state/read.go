package state

import (
	"bytes"
	"fmt"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// Read reads a state file of format 4. The snapshot refers to parts of data, so the caller must not change data
// afterwards.
//
// Read drops nothing silently: a field in an unknown form is an error. An empty or truncated file is an error, too:
// Terraform and OpenTofu take an empty file for an empty state, and would create all objects a second time. The caller
// handles a missing file. After an error, which it adds to bag, Read returns false.
func Read(data []byte, bag *diag.Bag) (*Snapshot, bool) {
	if len(bytes.TrimSpace(data)) == 0 {
		bag.Add(diag.Errorf(badEmpty, "The state file is empty. It was probably truncated while it was written. Nothing was changed. Restore the file from a backup, or delete it if there never was a state."))
		return nil, false
	}
	if is := Converted(data); is != "" {
		bag.Add(diag.Errorf(badFormat, "The state file %s, but must be in UTF-8 without a byte order mark. Nothing was changed. Save the file in this encoding, or restore it from a backup.", is))
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

// Converted returns a phrase about the encoding of a state that an editor or another program has converted, such as "is
// in UTF-16". It returns "" for UTF-8 without a byte order mark.
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

// file reads the top-level object of a state file.
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

// unique returns true for the first occurrence of a top-level field. For a second one it adds an error and returns
// false.
func (r *reader) unique(key []byte) bool {
	if r.seen[string(key)] {
		r.problem(r.Pos, badContent, "It has the field %q twice.", key)
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

// body reads one of the large fields: outputs, resources or check_results.
func (r *reader) body(key string) {
	switch key {
	case "outputs":
		r.Object(r.output)
	case "resources":
		r.Array(r.resourceBlock)
	case "check_results":
		r.checks()
	case "modules":
		r.problem(r.Pos, badContent, "The file has format version 4, but also the field \"modules\" of version 3. It was probably edited by hand.")
		r.Skip()
	}
}

// postponed reads the large fields that precede the version in the file. They can only be read when the version is
// known.
func (r *reader) postponed() {
	for _, key := range []string{"outputs", "resources", "check_results"} {
		if pos, ok := r.later[key]; ok && r.Err == nil {
			r.Pos = pos
			r.body(key)
		}
	}
}

// supported returns true if the format version of the file can be read. Otherwise it adds an error.
func (r *reader) supported() bool {
	by := ""
	if r.snap.Version != "" {
		by = fmt.Sprintf(" It was written by version %s of the program that made it.", r.snap.Version)
	}
	detail := ""
	switch {
	case r.seen["encrypted_data"] && r.seen["encryption_version"]:
		r.bag.Add(diag.Errorf(badEncrypted, "The state is encrypted, and no encryption is configured for it. Configure the key provider and method that encrypted it."))
		r.broken = true
		return false
	case !r.hasVersion:
		detail = "The state file does not have a \"version\" attribute, so its format is not known."
	case r.version > 4:
		detail = fmt.Sprintf("The state file uses format version %d, and this version of Lethe supports only version 4.%s Use a newer version of Lethe.", r.version, by)
	case r.version < 4:
		detail = fmt.Sprintf("The state file uses format version %d.%s Lethe supports only version 4. Run \"terraform refresh\" with Terraform 0.12 or later to convert version 3. Convert older versions with Terraform 0.11 first.", r.version, by)
	default:
		return true
	}
	r.bag.Add(diag.Errorf(badFormat, "%s", detail))
	r.broken = true
	return false
}
