package view

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// act is what happens to a part of an object.
type act uint8

const (
	same act = iota
	add
	edit
	drop
)

// node is one place in the comparison of two documents.
type node struct {
	act    act
	kind   nodeKind
	forces bool // its change needs the replacement of the object

	before, after     *docValue         // nScalar, nText
	was, is           *node             // nTurn: what went and what came; nUnknown: what went; nJSON: the content in is
	names             []string          // nDict: as shown
	width             int               // nDict: of the longest name, also of those that are not shown
	kids              []*node           // nDict, nSeq
	quoted            bool              // nDict: a map; its unchanged parts are called elements
	nested            bool              // nDict, nSeq: from a nested attribute of the schema
	context           bool              // nSeq: unchanged neighbours of changes are shown
	sensitivityChange sensitivityChange // nSecret: whether the value becomes sensitive, or is no longer sensitive
	sameValue         bool              // nSecret: only the sensitivity changes
	groups            []group           // nDict that is a block: the blocks in it
	notes             []string          // of such a block: remarks below its attributes
	label             string            // of a block in a map, quoted
	spaces            bool              // nJSON: only white space or the like differs
}

// group is all blocks of one type.
type group struct {
	name    string
	unknown act // what happens if it is not known yet how many there will be; same if it is known
	forces  bool
	blocks  []*node
}

func (g *group) changes() bool {
	return g.unknown != same || slices.ContainsFunc(g.blocks, (*node).changes)
}

type nodeKind uint8

const (
	nScalar nodeKind = iota
	nText            // a string of several lines
	nJSON
	nSecret
	nWriteOnly
	nUnknown
	nTurn // a value of another kind
	nSeq
	nDict
)

// sensitivityChange is a change of sensitivity.
type sensitivityChange uint8

const (
	steady  sensitivityChange = iota
	closing                   // becomes sensitive
	opening                   // is sensitive no longer
)

// differ compares documents.
type differ struct {
	secrets  bool // sensitive values are shown like others
	stored   bool // an object is shown as it is stored, by comparing it with itself
	replaced bool // the object is replaced: what is written to the old one is written to the new one too
}

// value compares two values, either of which may be nil. forces are the paths whose change needs
// the replacement of the object. What relevant does not have is shown as it was; give it all to
// see everything.
func (d *differ) value(f *schemaForm, b, a *docValue, forces, relevant *tree) *node {
	if relevant == nil {
		a = b
	}
	n := d.compare(f, b, a, forces, relevant)
	n.forces = forces.is() && n.act != same
	return n
}

func (d *differ) compare(f *schemaForm, b, a *docValue, forces, relevant *tree) *node {
	switch {
	case !d.secrets && (b != nil && b.secret || a != nil && a.secret):
		return d.secret(b, a)
	case b != nil && b.kind == vUnknown: // a value as far as it is known
		return &node{kind: nUnknown, act: change(b, a)}
	case a != nil && a.kind == vUnknown:
		return d.unknown(f, b)
	case b != nil && a != nil && family(b) != family(a) && b.kind != vNull && a.kind != vNull:
		return d.turn(f, b, a)
	case b.composite() && a != nil && a.kind == vNull, a.composite() && b != nil && b.kind == vNull:
		return d.turn(f, b, a)
	}
	switch one := either(b, a); {
	case one.isSeq():
		return d.seq(f, b, a, forces, relevant)
	case one.isDict():
		return d.dict(f, b, a, forces, relevant)
	case one.kind == vString:
		return d.text(b, a)
	}
	return &node{kind: nScalar, act: change(b, a), before: b, after: a}
}

func (v *docValue) composite() bool { return v != nil && (v.isSeq() || v.isDict()) }

// either is the one that says what kind of value it is.
func either(b, a *docValue) *docValue {
	switch {
	case a == nil, a.kind == vNull && b != nil:
		return b
	}
	return a
}

// family are the kinds that can be compared with each other.
func family(v *docValue) docKind {
	switch v.kind {
	case vSet:
		return vList
	case vMap:
		return vObject
	}
	return v.kind
}

// change says what happens to a value as a whole.
func change(b, a *docValue) act {
	switch {
	case b == nil && a == nil:
		return same
	case b == nil:
		return add
	case a == nil:
		return drop
	case b.equal(a):
		return same
	}
	return edit
}

// secret compares two values of which at least one is sensitive.
func (d *differ) secret(b, a *docValue) *node {
	n := &node{kind: nSecret, act: change(b, a)}
	if b == nil || a == nil || b.secret == a.secret {
		return n
	}
	n.sensitivityChange = opening
	if a.secret {
		n.sensitivityChange = closing
	}
	n.sameValue = n.act == same
	n.act = edit
	return n
}

// unknown compares a value with an unknown one. If the schema names the attributes of a single object, each of them
// becomes unknown; any other value is replaced as a whole.
func (d *differ) unknown(f *schemaForm, b *docValue) *node {
	switch {
	case b == nil:
		return &node{kind: nUnknown, act: add}
	case f != nil && f.kind == fObject && f.nested && b.isDict():
		return &node{kind: nUnknown, act: edit, was: d.unknownParts(f, b)}
	}
	return &node{kind: nUnknown, act: edit, was: d.value(f, b, nil, nil, all)}
}

func (d *differ) unknownParts(f *schemaForm, b *docValue) *node {
	n := &node{kind: nDict, act: edit, nested: true}
	for _, name := range slices.Sorted(maps.Keys(f.parts)) {
		if in := f.parts[name]; !in.writes() {
			n.names = append(n.names, attrName(name))
			n.kids = append(n.kids, d.compare(in, b.get(name), &docValue{kind: vUnknown, secret: in.hides()}, nil, all))
		}
	}
	return n
}

func (d *differ) turn(f *schemaForm, b, a *docValue) *node {
	return &node{kind: nTurn, act: edit, was: d.value(f, b, nil, nil, all), is: d.value(f, nil, a, nil, all)}
}

// text compares strings: as JSON if both are or one comes or goes, else line by line.
func (d *differ) text(b, a *docValue) *node {
	n := &node{kind: nScalar, act: change(b, a), before: b, after: a}
	bj, bok := jsonOf(b)
	aj, aok := jsonOf(a)
	switch {
	case (bok || b == nil) && (aok || a == nil):
		in := d.value(nil, bj, aj, nil, all)
		n = &node{kind: nJSON, act: n.act, is: in, spaces: n.act == edit && in.act == same}
	case bok && a.kind == vString || aok && b.kind == vString:
		return &node{kind: nTurn, act: n.act, was: d.text(b, nil), is: d.text(nil, a)}
	case bok || aok: // null beside JSON
		return &node{kind: nTurn, act: n.act, was: d.compare(nil, b, nil, nil, all), is: d.compare(nil, nil, a, nil, all)}
	case manyLines(b) || manyLines(a):
		n.kind = nText
	}
	return n
}

func jsonOf(v *docValue) (*docValue, bool) {
	if v == nil || v.kind != vString {
		return nil, false
	}
	return parseJSON(v.text)
}

func manyLines(v *docValue) bool {
	return v != nil && v.kind == vString && strings.Contains(v.text, "\n")
}

// settle derives what happens to a container from its parts.
func settle(b, a *docValue, kids []*node) act {
	switch {
	case b == nil:
		return add
	case a == nil:
		return drop
	}
	if slices.ContainsFunc(kids, (*node).changes) {
		return edit
	}
	return same
}

func (n *node) changes() bool { return n.act != same }

func (d *differ) seq(f *schemaForm, b, a *docValue, forces, relevant *tree) *node {
	n := &node{kind: nSeq, nested: f != nil && f.nested}
	switch {
	case f != nil && f.kind == fSet:
		n.kids = d.setElements(f, b.sequence(), a.sequence())
	case n.nested:
		n.kids = d.places(f, b.sequence(), a.sequence(), forces, relevant)
	default:
		n.context = true
		n.kids = d.matched(f, b.sequence(), a.sequence(), forces)
	}
	n.act = settle(b, a, n.kids)
	return n
}

// matched compares lists by what stayed in them.
func (d *differ) matched(f *schemaForm, b, a []*docValue, forces *tree) []*node {
	pairs := align(b, a)
	kids := make([]*node, 0, len(pairs))
	for _, p := range pairs {
		kids = append(kids, d.value(f.element(), pick(b, p.b), pick(a, p.a), forces.at(strconv.Itoa(max(p.b, p.a))), all))
	}
	return kids
}

func pick(vs []*docValue, i int) *docValue {
	if i < 0 || i >= len(vs) {
		return nil
	}
	return vs[i]
}

// places compares lists of objects that the schema describes place by place.
func (d *differ) places(f *schemaForm, b, a []*docValue, forces, relevant *tree) []*node {
	var kids []*node
	for i := range max(len(b), len(a)) {
		step := strconv.Itoa(i)
		bv, av := pick(b, i), pick(a, i)
		rel := relevant.below(step)
		if rel == nil && bv == nil {
			continue
		}
		kids = append(kids, d.value(f.element(), bv, av, forces.at(step), rel))
	}
	return kids
}

// setElements compares sets.
func (d *differ) setElements(f *schemaForm, b, a []*docValue) []*node {
	kids := make([]*node, 0, len(b)+len(a))
	for _, p := range matchSets(b, a) {
		kids = append(kids, d.value(f.element(), p[0], p[1], nil, all))
	}
	return kids
}

// matchSets gives each element of two sets with its partner in the other, nil if it has none: those of the
// first in their order, then those that only the second has.
func matchSets(b, a []*docValue) (pairs [][2]*docValue) {
	bc, ac := classes(b, a)
	inB, inA := map[int]bool{}, map[int]*docValue{}
	for i, c := range ac {
		inA[c] = a[i]
	}
	for i, c := range bc {
		inB[c] = true
		pairs = append(pairs, [2]*docValue{b[i], inA[c]})
	}
	for i, c := range ac {
		if !inB[c] {
			pairs = append(pairs, [2]*docValue{nil, a[i]})
		}
	}
	return pairs
}

func (d *differ) dict(f *schemaForm, b, a *docValue, forces, relevant *tree) *node {
	n := &node{kind: nDict, nested: f != nil && f.nested, quoted: f != nil && f.kind == fMap}
	spell := attrName
	if n.quoted {
		spell = quote
	}
	return d.parts(n, f, b, a, forces, relevant, spell)
}

// parts compares the parts of two dicts, but for blocks. Their names are spelled as they are shown.
func (d *differ) parts(n *node, f *schemaForm, b, a *docValue, forces, relevant *tree, spell func(string) string) *node {
	for _, name := range unionNames(b, a) {
		in, bv, rel := f.part(name), b.get(name), relevant.below(name)
		if in.isBlocks() || rel == nil && bv == nil {
			continue
		}
		if k := d.part(f, in, b, a, bv, a.get(name), forces.at(name), rel); k != nil {
			n.names, n.kids = append(n.names, spell(name)), append(n.kids, k)
		}
	}
	n.act = settle(b, a, n.kids)
	return n
}

// part compares one part of a dict; nil if there is nothing to show.
func (d *differ) part(f, in *schemaForm, b, a, bv, av *docValue, forces, relevant *tree) *node {
	if relevant == nil {
		av = bv
	}
	if in.writes() {
		return d.writeOnly(in, b, a, forces)
	}
	if f.strict() {
		if bv.absent() {
			bv = nil
		}
		if av.absent() {
			av = nil
		}
		if f.block && in != nil && in.kind == fScalar {
			bv, av = emptyIsNothing(bv, av)
		}
		if bv == nil && av == nil {
			return nil
		}
	}
	return d.value(in, bv, av, forces, relevant)
}

// emptyIsNothing takes an empty string for nothing where the other side has nothing either, or a
// better one: old SDKs cannot tell them apart, and Terraform and OpenTofu show neither.
func emptyIsNothing(b, a *docValue) (*docValue, *docValue) {
	be, ae := b.emptyString(), a.emptyString()
	if be && !ae && (a == nil || a.kind == vString) || be && ae && a.secret == b.secret {
		b = nil
	}
	if ae && b == nil {
		a = nil
	}
	return b, a
}

func (v *docValue) emptyString() bool { return v != nil && v.kind == vString && v.text == "" }

// writeOnly says whether a write-only attribute takes part in the change. Its value is never
// there to see. It does when the configuration sets it and the object is made, also in place of
// another, or its version argument changes.
func (d *differ) writeOnly(in *schemaForm, b, a *docValue, paths *tree) *node {
	n := &node{kind: nWriteOnly, forces: paths.is()}
	if n.forces {
		n.act = edit
		return n
	}
	vb, va := b.get(in.version), a.get(in.version)
	switch {
	case d.stored:
		return n
	case a == nil, paths == nil || !paths.sent:
		return nil
	case b == nil:
		n.act = add
	case !d.replaced && (in.version == "" || vb.equal(va)):
		return nil
	case vb.absent():
		n.act = add
	default:
		n.act = edit
	}
	return n
}

// unionNames lists the names of both dicts, sorted.
func unionNames(b, a *docValue) []string {
	var bn, an []string
	if b != nil {
		bn = b.names
	}
	if a != nil {
		an = a.names
	}
	switch {
	case len(bn) == 0:
		return an
	case len(an) == 0 || slices.Equal(bn, an):
		return bn
	}
	out := slices.Concat(bn, an)
	slices.Sort(out)
	return slices.Compact(out)
}

// attrName is a name as it is written before an equals sign: in quotes if it is no identifier.
func attrName(s string) string {
	first, _ := utf8.DecodeRuneInString(s)
	odd := func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.In(r, unicode.Mn, unicode.Mc)
	}
	if first != '_' && !unicode.IsLetter(first) || strings.IndexFunc(s, odd) >= 0 {
		return quote(s)
	}
	return s
}
