package rows

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
)

// Digest identifies the content of a row within its table.
type Digest [16]byte

// Sum is the sum of the digests of any number of rows, modulo 2^128. It detects accidental changes of rows, not
// deliberate ones: a program that changes rows can change the stored sum, too.
type Sum [2]uint64

// Add adds the digest of a row.
func (s *Sum) Add(d Digest) {
	var carry uint64
	s[1], carry = bits.Add64(s[1], binary.BigEndian.Uint64(d[8:]), 0)
	s[0], _ = bits.Add64(s[0], binary.BigEndian.Uint64(d[:8]), carry)
}

// Join adds another sum.
func (s *Sum) Join(other Sum) { s.Add(Digest(other.Bytes())) }

// Subtract subtracts the digest of a row that was added before.
func (s *Sum) Subtract(d Digest) {
	var borrow uint64
	s[1], borrow = bits.Sub64(s[1], binary.BigEndian.Uint64(d[8:]), 0)
	s[0], _ = bits.Sub64(s[0], binary.BigEndian.Uint64(d[:8]), borrow)
}

// Bytes returns the sum in its stored form, 16 bytes.
func (s Sum) Bytes() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, s[0]), s[1])
}

// SumOf decodes the result of Bytes. ok is false if the length is not 16 bytes.
func SumOf(stored []byte) (s Sum, ok bool) {
	if len(stored) != 16 {
		return s, false
	}
	return Sum{binary.BigEndian.Uint64(stored), binary.BigEndian.Uint64(stored[8:])}, true
}

// ResourceOf returns the address of an object's resource, without instance keys. It returns "" for rows of other kinds,
// and for an object row without a stored address.
func ResourceOf(k Kind, cells [][]byte) string {
	if k != Objects {
		return ""
	}
	return string(cells[oResource])
}

// Split converts a document to rows, and calls row for each row. The cells are valid until row returns. Split returns
// false if a Joiner would not reproduce exactly the same document from the head and the rows. Then the caller must
// discard both.
func Split(doc []byte, row func(k Kind, d Digest, cells [][]byte)) (Head, bool) {
	s := &splitter{Scanner: jsontext.Scanner{In: doc}, row: row}
	against := &compared{rest: doc}
	s.again = NewJoiner(against)
	s.document()
	if s.Err != nil || s.odd {
		return Head{}, false
	}
	s.again.Head(s.head)
	err := s.again.Close()
	return s.head, err == nil && len(against.rest) == 0
}

// Each calls row for each row of a document that Split has accepted. It does not verify the rows again.
func Each(doc []byte, row func(k Kind, d Digest, cells [][]byte)) {
	s := &splitter{Scanner: jsontext.Scanner{In: doc}, row: row}
	s.document()
}

// errOther ends a comparison at the first difference.
var errOther = errors.New("another document")

// compared is a writer that compares the written bytes with a text.
type compared struct{ rest []byte }

func (c *compared) Write(p []byte) (int, error) {
	rest, ok := bytes.CutPrefix(c.rest, p)
	if !ok {
		return 0, errOther
	}
	c.rest = rest
	return len(p), nil
}

// splitter converts one document to rows.
type splitter struct {
	jsontext.Scanner
	row   func(Kind, Digest, [][]byte)
	again *Joiner // writes the document again, for the comparison; nil if Split has verified the document before
	head  Head
	odd   bool // the document has a form that rows cannot reproduce

	cells   [objectCells][]byte
	header  [oOwnProvider][]byte // the cells of the resource that is being read
	address []byte               // the address of the resource that is being read, without instance keys
	last    [kinds][][]byte      // the identifying cells of the last row of each kind
	buf     []byte
}

func (s *splitter) document() {
	s.Object(func(key []byte) {
		switch k := string(key); k {
		case "version":
			s.odd = s.odd || s.Uint() != 4
		case "terraform_version":
			s.head.TerraformVersion = string(s.text())
		case "serial":
			s.head.Serial = s.Uint()
		case "lineage":
			s.head.Lineage = string(s.text())
			if s.again != nil {
				s.again.Head(s.head)
			}
		case "outputs":
			s.Object(s.output)
		case "resources":
			s.Array(s.resource)
		case "check_results":
			s.Array(s.check)
		default:
			s.head.More = add(s.head.More, k, s.Raw())
		}
	})
	s.head.More = closed(s.head.More)
	if s.Peek() != 0 {
		s.odd = true
	}
}

// add appends a member to a JSON object whose closing brace is still missing. If object is nil, add begins a new
// object.
func add(object []byte, key string, value []byte) []byte {
	if object == nil {
		object = []byte{'{'}
	} else {
		object = append(object, ',')
	}
	return append(append(jsontext.AppendString(object, key), ':'), value...)
}

func closed(object []byte) []byte {
	if object == nil {
		return nil
	}
	return append(object, '}')
}

// text reads a JSON string for a text column. If the string contains a zero byte, which PostgreSQL's type text cannot
// store, it sets s.odd.
func (s *splitter) text() []byte {
	t := s.Str()
	s.odd = s.odd || bytes.IndexByte(t, 0) >= 0
	if t == nil {
		t = []byte{}
	}
	return t
}

var yes, no = []byte("true"), []byte("false")

func (s *splitter) flag() []byte {
	if s.Boolean() {
		return yes
	}
	return no
}

// emit passes a row to the callback. The first keys cells identify the row. If they do not sort after the identifying
// cells of the previous row of the kind, emit sets s.odd.
func (s *splitter) emit(k Kind, cells [][]byte, keys int) {
	if s.Err != nil || s.odd {
		return
	}
	if last := s.last[k]; last != nil && compare(last, cells[:keys]) >= 0 {
		s.odd = true
		return
	}
	s.last[k] = append(s.last[k][:0], cells[:keys]...)
	if s.again != nil {
		s.again.Row(k, cells)
	}
	var d Digest
	d, s.buf = digestOf(k, cells, s.buf)
	s.row(k, d, cells)
}

// DigestOf returns the digest of a row. The cells that Split passes and the stored cells of a row have the same digest.
func DigestOf(k Kind, cells [][]byte) Digest {
	d, _ := digestOf(k, cells, nil)
	return d
}

// digestOf computes the digest of a row in the buffer buf, and returns the buffer for the next call. The prefix 2 makes
// these digests differ from the digests of the first format, which were computed from cells in the spelling of the
// document.
func digestOf(k Kind, cells [][]byte, buf []byte) (Digest, []byte) {
	b := append(buf[:0], 2, byte(k))
	for i, c := range cells[:min(len(cells), int(oResource))] {
		if c == nil {
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		from := len(b)
		switch column := &Tables[k].Columns[i]; {
		case column.isJSON():
			b = jsontext.AppendCompact(b, c)
		case column.isFlag():
			b = append(b, c[0]) // reduce "true" to "t", as PostgreSQL spells it
		default:
			b = append(b, c...)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(b)-from))
	}
	sum := sha256.Sum256(b)
	return Digest(sum[:16]), b
}

// compare compares the identifying cells of two rows: key_number as numbers, other cells by their bytes. The result is
// negative, 0 or positive.
func compare(a, b [][]byte) int {
	for i := range a {
		c := bytes.Compare(a[i], b[i])
		if i == oKeyNumber {
			c = cmp.Or(cmp.Compare(len(a[i]), len(b[i])), c)
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func (s *splitter) output(name []byte) {
	s.odd = s.odd || bytes.IndexByte(name, 0) >= 0
	cells := s.cells[:5]
	cells[0], cells[1], cells[2], cells[3], cells[4] = name, nil, nil, no, nil
	s.Object(func(key []byte) {
		switch string(key) {
		case "value":
			cells[1] = s.Raw()
		case "type":
			cells[2] = s.Raw()
		case "sensitive":
			cells[3] = s.flag()
		case "deprecated":
			cells[4] = s.text()
		default:
			s.odd = true
			s.Skip()
		}
	})
	s.odd = s.odd || cells[1] == nil || cells[2] == nil
	s.emit(Outputs, cells, 1)
}

func (s *splitter) check() {
	cells := s.cells[:4]
	clear(cells)
	s.Object(func(key []byte) {
		switch string(key) {
		case "object_kind":
			cells[0] = s.text()
		case "config_addr":
			cells[1] = s.text()
		case "status":
			cells[2] = s.text()
		case "objects":
			cells[3] = s.Raw()
		default:
			s.odd = true
			s.Skip()
		}
	})
	for _, c := range cells {
		s.odd = s.odd || c == nil
	}
	s.emit(Checks, cells, 2)
}

// resource reads one element of "resources". Other fields of the resource may follow its "instances", so resource skips
// "instances" first, and reads that field after all others.
func (s *splitter) resource() {
	h := &s.header
	clear(h[:])
	h[oModule] = []byte{}
	var instances []byte
	s.Object(func(key []byte) {
		switch k := string(key); k {
		case "module":
			h[oModule] = s.text()
		case "mode":
			h[oMode] = s.text()
		case "type":
			h[oType] = s.text()
		case "name":
			h[oName] = s.text()
		case "provider":
			h[oProvider] = s.text()
		case "instances":
			instances = s.Raw()
		default:
			h[oResourceMore] = add(h[oResourceMore], k, s.Raw())
		}
	})
	h[oResourceMore] = closed(h[oResourceMore])
	s.resourceAddress()
	s.odd = s.odd || h[oMode] == nil || h[oType] == nil || h[oName] == nil || instances == nil
	if s.Err != nil || s.odd {
		return
	}
	outer := s.Scanner
	s.Scanner = jsontext.Scanner{In: instances}
	s.Array(s.instance)
	outer.Err = s.Err
	s.Scanner = outer
}

var noText, noNumber = []byte{}, []byte("0")

func (s *splitter) instance() {
	c := &s.cells
	clear(c[:])
	copy(c[:], s.header[:])
	c[oKeyKind], c[oKeyText], c[oKeyNumber], c[oDeposed] = []byte("0"), noText, noNumber, noText
	c[oCreateFirst], c[oSkipDestroy] = no, no
	s.Object(func(key []byte) { s.field(string(key)) })
	c[oMore] = closed(c[oMore])
	s.odd = s.odd || c[oSchemaVersion] == nil || c[oSensitive] == nil
	c[oResource] = s.address
	s.emit(Objects, c[:oAddress], oDeposed+1)
}

func (s *splitter) field(key string) {
	c := &s.cells
	switch key {
	case "index_key":
		s.key()
	case "provider":
		c[oOwnProvider] = s.text()
	case "status":
		c[oStatus] = s.text()
	case "deposed":
		c[oDeposed] = s.text()
	case "schema_version":
		c[oSchemaVersion] = s.number()
	case "attributes":
		c[oAttributes] = s.Raw()
	case "attributes_flat":
		c[oAttributesFlat] = s.Raw()
	case "sensitive_attributes":
		c[oSensitive] = s.Raw()
	case "identity_schema_version":
		c[oIdentityVersion] = s.number()
	case "identity":
		c[oIdentity] = s.Raw()
	case "private":
		c[oPrivate] = s.text()
	case "dependencies":
		c[oDependencies] = s.Raw()
	case "create_before_destroy":
		c[oCreateFirst] = s.flag()
	case "skip_destroy":
		c[oSkipDestroy] = s.flag()
	default:
		c[oMore] = add(c[oMore], key, s.Raw())
	}
}

// number reads a whole number for a bigint column. If the number is too large for the column, it sets s.odd.
func (s *splitter) number() []byte {
	s.Peek()
	from := s.Pos
	n := s.Uint()
	s.odd = s.odd || n > 1<<62
	return s.In[from:min(s.Pos, len(s.In))]
}

func (s *splitter) key() {
	if s.Peek() == '"' {
		s.cells[oKeyKind], s.cells[oKeyText] = []byte("1"), s.text()
		return
	}
	s.cells[oKeyKind], s.cells[oKeyNumber] = []byte("2"), s.number()
}

// Stored converts cells from Split to the cells that a database stores: JSON without white space, plus the derived
// columns resource and address.
func Stored(k Kind, cells [][]byte) [][]byte {
	out := make([][]byte, len(Tables[k].Columns))
	for i, c := range cells {
		if c != nil && Tables[k].Columns[i].isJSON() {
			c = jsontext.AppendCompact(nil, c)
		}
		out[i] = c
	}
	if k == Objects {
		out[oAddress] = address(cells)
	}
	return out
}

func (c *Column) isJSON() bool { return c.Type[:4] == "json" }

func (c *Column) isFlag() bool { return c.Type[:4] == "bool" }

// resourceAddress computes the address, without instance keys, of the resource that is being read.
func (s *splitter) resourceAddress() {
	h := &s.header
	a := s.address[:0]
	if len(h[oModule]) > 0 {
		a = append(withoutKeys(a, h[oModule]), '.')
	}
	if string(h[oMode]) == "data" {
		a = append(a, "data."...)
	}
	s.address = append(append(append(a, h[oType]...), '.'), h[oName]...)
}

// withoutKeys appends the address of a module to dst, without the instance keys in brackets. A string key may itself
// contain brackets.
func withoutKeys(dst, module []byte) []byte {
	depth, text := 0, false
	for i := 0; i < len(module); i++ {
		c := module[i]
		switch {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0:
			dst = append(dst, c)
		}
	}
	return dst
}

// address returns the address of the instance to which a row of Objects belongs.
func address(cells [][]byte) []byte {
	var a []byte
	if len(cells[oModule]) > 0 {
		a = append(append(a, cells[oModule]...), '.')
	}
	if string(cells[oMode]) == "data" {
		a = append(a, "data."...)
	}
	a = append(append(append(a, cells[oType]...), '.'), cells[oName]...)
	switch string(cells[oKeyKind]) {
	case "1":
		a = append(a, addr.StringKey(string(cells[oKeyText])).String()...)
	case "2":
		a = append(append(append(a, '['), cells[oKeyNumber]...), ']')
	}
	return a
}
