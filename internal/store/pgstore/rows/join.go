package rows

import (
	"bytes"
	"io"

	"github.com/lethe-iac/lethe/internal/jsontext"
)

// Joiner writes a document from rows. Call Head, then Row for each row in the order of Tables, then Close. Row accepts
// the cells that Split passes to its callback, and the cells that Stored returns.
type Joiner struct {
	w        jsontext.Writer
	head     Head
	started  bool
	at       Kind
	resource [oOwnProvider][]byte // the cells of the resource whose objects are being written
	open     bool                 // a resource was begun and not ended
}

// NewJoiner returns a Joiner that writes to w.
func NewJoiner(w io.Writer) *Joiner {
	return &Joiner{w: jsontext.Writer{W: w, Buf: make([]byte, 0, 64<<10)}}
}

// Head sets the fields of the document that are not in rows. The first call writes the fields at the beginning of the
// document. Close writes h.More at the end of the document, so a later call of Head may set h.More.
func (j *Joiner) Head(h Head) {
	j.head = h
	if j.started {
		return
	}
	j.started = true
	j.w.Open('{')
	j.w.Key("version")
	j.w.Word("4")
	j.w.KeyText("terraform_version", h.TerraformVersion)
	j.w.Key("serial")
	j.w.Uint(h.Serial)
	j.w.KeyText("lineage", h.Lineage)
	j.w.Key("outputs")
	j.w.Open('{')
}

// next ends the part of the document for the kinds before k, and begins the part for k.
func (j *Joiner) next(k Kind) {
	for ; j.at < k; j.at++ {
		switch j.at {
		case Outputs:
			j.w.Close('}')
			j.w.Key("resources")
			j.w.Open('[')
		case Objects:
			j.end()
			j.w.Close(']')
			j.w.Key("check_results")
			if k == Checks {
				j.w.Open('[')
			} else {
				j.w.Word("null")
			}
		case Checks:
		}
	}
}

// Row writes one row. The rows must come in the order of the document.
func (j *Joiner) Row(k Kind, cells [][]byte) {
	if !j.started {
		j.Head(Head{})
	}
	j.next(k)
	switch k {
	case Outputs:
		j.w.Key(string(cells[0]))
		j.w.Open('{')
		j.raw("value", cells[1])
		j.raw("type", cells[2])
		j.flag("sensitive", cells[3])
		j.text("deprecated", cells[4])
		j.w.Close('}')
	case Objects:
		j.object(cells)
	case Checks:
		j.w.Open('{')
		j.text("object_kind", cells[0])
		j.text("config_addr", cells[1])
		j.text("status", cells[2])
		j.raw("objects", cells[3])
		j.w.Close('}')
	}
}

// Close ends the document, and returns the first error of writing it.
func (j *Joiner) Close() error {
	if !j.started {
		j.Head(Head{})
	}
	if j.at == Checks {
		j.w.Close(']')
	} else {
		j.next(kinds)
	}
	j.w.Members(j.head.More)
	j.w.Close('}')
	j.w.Buf = append(j.w.Buf, '\n')
	j.w.Flush()
	return j.w.Err
}

func (j *Joiner) text(name string, cell []byte) {
	if cell != nil {
		j.w.KeyText(name, string(cell))
	}
}

func (j *Joiner) raw(name string, cell []byte) {
	if cell != nil {
		j.w.Key(name)
		j.w.Raw(cell)
	}
}

func (j *Joiner) word(name string, cell []byte) {
	if cell != nil {
		j.w.Key(name)
		j.w.Word(string(cell))
	}
}

// flag writes the member name with the value true if the cell is true, which PostgreSQL spells "t". Otherwise it writes
// nothing.
func (j *Joiner) flag(name string, cell []byte) {
	if len(cell) > 0 && cell[0] == 't' {
		j.w.KeyTrue(name)
	}
}

// object writes the row of an object. If the object belongs to another resource than the object before it, object ends
// that resource and begins the new one.
func (j *Joiner) object(c [][]byte) {
	for i := range oKeyKind {
		if !bytes.Equal(j.resource[i], c[i]) {
			j.end()
			break
		}
	}
	if !j.open {
		j.open = true
		for i := range j.resource {
			j.resource[i] = append(j.resource[i][:0], c[i]...)
			if c[i] == nil {
				j.resource[i] = nil
			}
		}
		j.w.Open('{')
		if len(c[oModule]) > 0 {
			j.text("module", c[oModule])
		}
		j.text("mode", c[oMode])
		j.text("type", c[oType])
		j.text("name", c[oName])
		j.text("provider", c[oProvider])
		j.w.Key("instances")
		j.w.Open('[')
	}
	j.w.Open('{')
	switch c[oKeyKind][0] {
	case '1':
		j.text("index_key", c[oKeyText])
	case '2':
		j.word("index_key", c[oKeyNumber])
	}
	j.text("provider", c[oOwnProvider])
	j.text("status", c[oStatus])
	if len(c[oDeposed]) > 0 {
		j.text("deposed", c[oDeposed])
	}
	j.word("schema_version", c[oSchemaVersion])
	j.raw("attributes", c[oAttributes])
	j.raw("attributes_flat", c[oAttributesFlat])
	j.raw("sensitive_attributes", c[oSensitive])
	j.word("identity_schema_version", c[oIdentityVersion])
	j.raw("identity", c[oIdentity])
	j.text("private", c[oPrivate])
	j.raw("dependencies", c[oDependencies])
	j.flag("create_before_destroy", c[oCreateFirst])
	j.flag("skip_destroy", c[oSkipDestroy])
	j.w.Members(c[oMore])
	j.w.Close('}')
}

// end ends the resource that is being written, if there is one.
func (j *Joiner) end() {
	if !j.open {
		return
	}
	j.open = false
	j.w.Close(']')
	j.w.Members(j.resource[oResourceMore])
	j.w.Close('}')
}
