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

// Digest tells rows of one table apart by what is in them.
type Digest [16]byte

// Sum is that of the digests of any number of rows, modulo 2^128. It finds mistakes; those who change rows on purpose can
// change it, too.
type Sum [2]uint64

// Add adds a row.
func (s *Sum) Add(d Digest) {
	var carry uint64
	s[1], carry = bits.Add64(s[1], binary.BigEndian.Uint64(d[8:]), 0)
	s[0], _ = bits.Add64(s[0], binary.BigEndian.Uint64(d[:8]), carry)
}

// Join adds the rows of another sum.
func (s *Sum) Join(other Sum) { s.Add(Digest(other.Bytes())) }

// Take takes a row away that was added.
func (s *Sum) Take(d Digest) {
	var borrow uint64
	s[1], borrow = bits.Sub64(s[1], binary.BigEndian.Uint64(d[8:]), 0)
	s[0], _ = bits.Sub64(s[0], binary.BigEndian.Uint64(d[:8]), borrow)
}

// Bytes is the sum as it is stored.
func (s Sum) Bytes() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, s[0]), s[1])
}

// SumOf is the sum that Bytes gave; what has another length is no sum.
func SumOf(stored []byte) (s Sum, ok bool) {
	if len(stored) != 16 {
		return s, false
	}
	return Sum{binary.BigEndian.Uint64(stored), binary.BigEndian.Uint64(stored[8:])}, true
}

// ResourceOf is the resource of an object, by its address without keys; "" where the row does not say, and for other
// rows.
func ResourceOf(k Kind, cells [][]byte) string {
	if k != Objects {
		return ""
	}
	return string(cells[oResource])
}

// Split takes a document apart, and calls row with each of its rows; the cells are good until row returns. It reports
// whether Joiner makes the very same document of the head and the rows. If it does not, they are good for nothing.
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

// Each calls row with the rows of a document that Split has split, which is not looked at again.
func Each(doc []byte, row func(k Kind, d Digest, cells [][]byte)) {
	s := &splitter{Scanner: jsontext.Scanner{In: doc}, row: row}
	s.document()
}

// errOther ends a comparison.
var errOther = errors.New("another document")

// compared is a writer that holds what is written against a text.
type compared struct{ rest []byte }

func (c *compared) Write(p []byte) (int, error) {
	rest, ok := bytes.CutPrefix(c.rest, p)
	if !ok {
		return 0, errOther
	}
	c.rest = rest
	return len(p), nil
}

// splitter goes over one document.
type splitter struct {
	jsontext.Scanner
	row   func(Kind, Digest, [][]byte)
	again *Joiner // nil: the document is known
	head  Head
	odd   bool // rows cannot hold what is there

	cells   [objectCells][]byte
	header  [oOwnProvider][]byte // those of the resource
	address []byte               // of the resource, without keys
	last    [kinds][][]byte      // what tells the last row of a table apart
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

// add adds a member to an object that is still open.
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

// text reads a string that a column of text can hold.
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

// emit hands out a row. keys are what tells it apart, which has to come after that of the row before.
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

// DigestOf is the digest of a row, of cells as Split gives them or as they are stored.
func DigestOf(k Kind, cells [][]byte) Digest {
	d, _ := digestOf(k, cells, nil)
	return d
}

// digestOf uses a buffer, and gives it back. The digests of the first format were those of the cells as documents have
// them; of two formats no two digests are the same.
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
			b = append(b, c[0]) // PostgreSQL spells true as t
		default:
			b = append(b, c...)
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(b)-from))
	}
	sum := sha256.Sum256(b)
	return Digest(sum[:16]), b
}

// compare is the order of two rows: of numbers where the column is one, otherwise of bytes.
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

// resource reads one element of "resources". Its instances come before what follows them: they are passed, and read
// when all of it is known.
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

// number reads a whole number that a column can hold.
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

// Stored makes of the cells that Split gives those of a row as it is stored: JSON without white space, and with the
// columns that are made of others.
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

// resourceAddress makes the address of the resource that is being read.
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

// withoutKeys appends the address of a module without what stands in brackets, where strings may have brackets, too.
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

// address is that of an instance.
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
