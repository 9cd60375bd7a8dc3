package diff

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Op is the operation on a part of an object, as a plan shows it.
type Op uint8

// The operations on a part of an object.
const (
	Same Op = iota
	Add
	Update
	Remove
	Opaque // both values exist, but one is sensitive, so they were not compared; see Differ.Opaque
)

// Node is the comparison of one part of two values.
type Node struct {
	Op     Op
	Kind   NodeKind
	Forces bool // the change of this part requires the replacement of the object

	Before, After *Value            // ScalarNode, TextNode: the two values; nil: the value does not exist
	Old, New      *Node             // RetypedNode: both values; UnknownNode: the old value; JSONNode: New is the comparison of the content
	Names         []string          // DictNode: the names of Children, quoted if necessary
	Width         int               // DictNode: the length of the longest name, if Names lacks some names; otherwise 0
	Children      []*Node           // DictNode, SequenceNode
	Quoted        bool              // DictNode: a map, whose unchanged parts are called elements
	Nested        bool              // DictNode, SequenceNode: from a nested attribute of the schema
	Context       bool              // SequenceNode: unchanged neighbours of changed elements are shown
	Sensitivity   SensitivityChange // SensitiveNode: whether the value becomes sensitive or is no longer sensitive
	SameValue     bool              // SensitiveNode: only the sensitivity changes
	Groups        []Group           // DictNode of a block: the nested blocks
	Notes         []string          // DictNode of a block: remarks below the attributes
	Label         string            // DictNode of a block in a map: the quoted key of the block
	OnlySpaces    bool              // JSONNode: the strings differ, but not their content
}

// Group contains the comparisons of all nested blocks of one type.
type Group struct {
	Name    string
	Unknown Op   // the operation if the number of blocks is unknown; Same if it is known
	Forces  bool // the number of blocks is unknown, and its change forces the replacement of the object
	Blocks  []*Node
}

// op returns the operation on the group. It is Update if a block differs or the number of blocks is unknown. It is
// Opaque if no known part differs, but some parts were not compared.
func (g *Group) op() Op {
	if g.Unknown != Same {
		return Update
	}
	return partsOp(g.Blocks)
}

// NodeKind is the kind of a Node. It determines which fields are set.
type NodeKind uint8

// Kinds of nodes.
const (
	ScalarNode    NodeKind = iota // numbers, booleans, null, strings of one line
	TextNode                      // a string with several lines
	JSONNode                      // strings that contain JSON
	SensitiveNode                 // a value is sensitive, so no value is shown
	WriteOnlyNode                 // a write-only argument
	UnknownNode                   // the new value, or a part of a shown value, is unknown
	RetypedNode                   // the new value has another kind
	SequenceNode                  // lists, sets and tuples
	DictNode                      // objects, maps and blocks
)

// SensitivityChange is a change of the sensitivity of a value.
type SensitivityChange uint8

// Changes of the sensitivity.
const (
	SameSensitivity SensitivityChange = iota
	BecomesSensitive
	NoLongerSensitive
)

// Differ compares values. Its fields are settings.
type Differ struct {
	ShowSensitive bool // compare and show sensitive values like other values
	Stored        bool // show the stored form of an object: the object is compared with itself
	Opaque        bool // compare no sensitive values; all values come from Object or NewOpaqueValue
	Replaced      bool // the object is replaced, so its write-only values are sent again
}

// Object returns the Value of an object. It returns nil if the object does not exist. If d.Opaque is true, the Value
// contains no sensitive parts.
func (d *Differ) Object(f *BlockForm, v mark.Value) *Value {
	if v.Raw == cty.NilVal || v.Raw.IsKnown() && v.Raw.IsNull() {
		return nil
	}
	return reader{opaque: d.Opaque}.value(v.Raw, &f.Form, SensitivePaths(v))
}

// Value compares two values, b (before) and a (after). Either may be nil: the value does not exist then. f is the form
// of both, or nil. A change at a path in forces requires the replacement of the object. Parts outside relevant count as
// unchanged; if relevant is nil, all parts count as unchanged.
func (d *Differ) Value(f *Form, b, a *Value, forces, relevant *Paths) *Node {
	if relevant == nil {
		a = b
	}
	n := d.compare(f, b, a, forces, relevant)
	n.Forces = forces.Has() && n.Op != Same
	return n
}

func (d *Differ) compare(f *Form, b, a *Value, forces, relevant *Paths) *Node {
	switch {
	case !d.ShowSensitive && (b != nil && b.Sensitive || a != nil && a.Sensitive):
		return d.secret(b, a)
	case b != nil && b.Kind == UnknownValue: // b is an unknown part of a value that is shown without a change
		return &Node{Kind: UnknownNode, Op: opOf(b, a)}
	case a != nil && a.Kind == UnknownValue:
		return d.unknown(f, b)
	case b != nil && a != nil && family(b) != family(a) && b.Kind != NullValue && a.Kind != NullValue:
		return d.retyped(f, b, a)
	case b.composite() && a != nil && a.Kind == NullValue, a.composite() && b != nil && b.Kind == NullValue:
		return d.retyped(f, b, a)
	}
	switch one := either(b, a); {
	case one.IsSequence():
		return d.seq(f, b, a, forces, relevant)
	case one.IsDict():
		return d.dict(f, b, a, forces, relevant)
	case one.Kind == StringValue:
		return d.text(b, a)
	}
	return &Node{Kind: ScalarNode, Op: opOf(b, a), Before: b, After: a}
}

func (v *Value) composite() bool { return v != nil && (v.IsSequence() || v.IsDict()) }

// either returns the value of b and a whose kind determines the kind of the node.
func either(b, a *Value) *Value {
	switch {
	case a == nil, a.Kind == NullValue && b != nil:
		return b
	}
	return a
}

// family returns a kind that represents all kinds that can be compared with each other: lists with sets, and maps with
// objects.
func family(v *Value) ValueKind {
	switch v.Kind {
	case SetValue:
		return ListValue
	case MapValue:
		return ObjectValue
	}
	return v.Kind
}

// opOf returns the operation on a whole value. b is the value before and a the value after; nil means that the value
// does not exist.
func opOf(b, a *Value) Op {
	switch {
	case b == nil && a == nil:
		return Same
	case b == nil:
		return Add
	case a == nil:
		return Remove
	case b.equal(a):
		return Same
	}
	return Update
}

// secret compares two values of which at least one is sensitive. b or a is nil if the value does not exist before or
// after.
func (d *Differ) secret(b, a *Value) *Node {
	n := &Node{Kind: SensitiveNode, Op: opOf(b, a)}
	opaque := d.Opaque && b != nil && a != nil && b != a // equal pointers mean that the part is outside relevant, so it counts as unchanged
	if opaque {
		n.Op = Opaque
	}
	if b == nil || a == nil || b.Sensitive == a.Sensitive {
		return n
	}
	n.Sensitivity = NoLongerSensitive
	if a.Sensitive {
		n.Sensitivity = BecomesSensitive
	}
	n.SameValue = n.Op == Same
	if !opaque {
		n.Op = Update
	}
	return n
}

// unknown compares b with an unknown new value. If the schema names the attributes of a single object, each of them
// becomes unknown. Otherwise the whole value becomes unknown. If b is nil, the unknown value is added.
func (d *Differ) unknown(f *Form, b *Value) *Node {
	switch {
	case b == nil:
		return &Node{Kind: UnknownNode, Op: Add}
	case f != nil && f.kind == fObject && f.nested && b.IsDict():
		return &Node{Kind: UnknownNode, Op: Update, Old: d.unknownParts(f, b)}
	}
	return &Node{Kind: UnknownNode, Op: Update, Old: d.Value(f, b, nil, nil, AllPaths)}
}

func (d *Differ) unknownParts(f *Form, b *Value) *Node {
	n := &Node{Kind: DictNode, Op: Update, Nested: true}
	for _, name := range slices.Sorted(maps.Keys(f.parts)) {
		if in := f.parts[name]; !in.isWriteOnly() {
			n.Names = append(n.Names, AttributeName(name))
			n.Children = append(n.Children, d.compare(in, b.get(name), &Value{Kind: UnknownValue, Sensitive: in.IsSensitive()}, nil, AllPaths))
		}
	}
	return n
}

func (d *Differ) retyped(f *Form, b, a *Value) *Node {
	return &Node{Kind: RetypedNode, Op: Update, Old: d.Value(f, b, nil, nil, AllPaths), New: d.Value(f, nil, a, nil, AllPaths)}
}

// text compares strings: as JSON if all present strings are JSON, and as text if none is. If only one of them is JSON,
// the node shows the removal of the old value and the addition of the new value. b or a is nil if the string does not
// exist before or after.
func (d *Differ) text(b, a *Value) *Node {
	n := &Node{Kind: ScalarNode, Op: opOf(b, a), Before: b, After: a}
	bj, bok := jsonOf(b)
	aj, aok := jsonOf(a)
	switch {
	case (bok || b == nil) && (aok || a == nil):
		in := d.Value(nil, bj, aj, nil, AllPaths)
		n = &Node{Kind: JSONNode, Op: n.Op, New: in, OnlySpaces: n.Op == Update && in.Op == Same}
	case bok && a.Kind == StringValue || aok && b.Kind == StringValue:
		return &Node{Kind: RetypedNode, Op: n.Op, Old: d.text(b, nil), New: d.text(nil, a)}
	case bok || aok: // one string is JSON and the other value is null
		return &Node{Kind: RetypedNode, Op: n.Op, Old: d.compare(nil, b, nil, nil, AllPaths), New: d.compare(nil, nil, a, nil, AllPaths)}
	case manyLines(b) || manyLines(a):
		n.Kind = TextNode
	}
	return n
}

func jsonOf(v *Value) (*Value, bool) {
	if v == nil || v.Kind != StringValue {
		return nil, false
	}
	return parseJSON(v.Text)
}

func manyLines(v *Value) bool {
	return v != nil && v.Kind == StringValue && strings.Contains(v.Text, "\n")
}

// containerOp returns the operation on a container: a sequence or a dict (an object or a map). If the container exists
// on one side only, it is Add or Remove. Otherwise it is the operation on the container's parts, kids.
func containerOp(b, a *Value, kids []*Node) Op {
	switch {
	case b == nil:
		return Add
	case a == nil:
		return Remove
	}
	return partsOp(kids)
}

// partsOp returns Update if a part differs. Otherwise it returns Opaque if some parts are not compared, and Same if all
// parts are equal.
func partsOp(kids []*Node) Op {
	op := Same
	for _, k := range kids {
		switch k.Op {
		case Same:
		case Opaque:
			op = Opaque
		default:
			return Update
		}
	}
	return op
}

// Changes reports whether the values differ.
func (n *Node) Changes() bool { return n.Op != Same }

func (d *Differ) seq(f *Form, b, a *Value, forces, relevant *Paths) *Node {
	n := &Node{Kind: SequenceNode, Nested: f != nil && f.nested}
	switch {
	case f != nil && f.kind == fSet:
		n.Children = d.setElements(f, b.sequence(), a.sequence())
	case n.Nested:
		n.Children = d.places(f, b.sequence(), a.sequence(), forces, relevant)
	default:
		n.Context = true
		n.Children = d.matched(f, b.sequence(), a.sequence(), forces)
	}
	n.Op = containerOp(b, a, n.Children)
	return n
}

// matched compares two lists: the pairs of elements that Align matches, and the elements without a match.
func (d *Differ) matched(f *Form, b, a []*Value, forces *Paths) []*Node {
	pairs := Align(b, a)
	kids := make([]*Node, 0, len(pairs))
	for _, p := range pairs {
		kids = append(kids, d.Value(f.Element(), pick(b, p.Before), pick(a, p.After), forces.At(strconv.Itoa(max(p.Before, p.After))), AllPaths))
	}
	return kids
}

func pick(vs []*Value, i int) *Value {
	if i < 0 || i >= len(vs) {
		return nil
	}
	return vs[i]
}

// places compares two lists of objects of a nested attribute index by index.
func (d *Differ) places(f *Form, b, a []*Value, forces, relevant *Paths) []*Node {
	var kids []*Node
	for i := range max(len(b), len(a)) {
		step := strconv.Itoa(i)
		bv, av := pick(b, i), pick(a, i)
		rel := relevant.below(step)
		if rel == nil && bv == nil {
			continue
		}
		kids = append(kids, d.Value(f.Element(), bv, av, forces.At(step), rel))
	}
	return kids
}

// setElements compares the elements of two sets. An element is unchanged, added or removed.
func (d *Differ) setElements(f *Form, b, a []*Value) []*Node {
	kids := make([]*Node, 0, len(b)+len(a))
	for _, p := range matchSets(b, a) {
		kids = append(kids, d.Value(f.Element(), p[0], p[1], nil, AllPaths))
	}
	return kids
}

// matchSets pairs each element of two sets with the equal element of the other set, or with nil if the other set has no
// equal element. The pairs for the first set come first, in its order. The elements that only the second set has
// follow.
func matchSets(b, a []*Value) (pairs [][2]*Value) {
	bc, ac := classes(b, a)
	inB, inA := map[int]bool{}, map[int]*Value{}
	for i, c := range ac {
		inA[c] = a[i]
	}
	for i, c := range bc {
		inB[c] = true
		pairs = append(pairs, [2]*Value{b[i], inA[c]})
	}
	for i, c := range ac {
		if !inB[c] {
			pairs = append(pairs, [2]*Value{nil, a[i]})
		}
	}
	return pairs
}

func (d *Differ) dict(f *Form, b, a *Value, forces, relevant *Paths) *Node {
	n := &Node{Kind: DictNode, Nested: f != nil && f.nested, Quoted: f != nil && f.kind == fMap}
	spell := AttributeName
	if n.Quoted {
		spell = strconv.Quote
	}
	return d.parts(n, f, b, a, forces, relevant, spell)
}

// parts fills n with the comparison of the parts of two dicts (objects or maps), without nested blocks. spell returns
// the form in which a name is shown.
func (d *Differ) parts(n *Node, f *Form, b, a *Value, forces, relevant *Paths, spell func(string) string) *Node {
	for _, name := range unionNames(b, a) {
		in, bv, rel := f.Part(name), b.get(name), relevant.below(name)
		if in.isBlocks() || rel == nil && bv == nil {
			continue
		}
		if k := d.part(f, in, b, a, bv, a.get(name), forces.At(name), rel); k != nil {
			n.Names, n.Children = append(n.Names, spell(name)), append(n.Children, k)
		}
	}
	n.Op = containerOp(b, a, n.Children)
	return n
}

// part compares one part of a dict (an object or a map). It returns nil if the part is not shown.
func (d *Differ) part(f, in *Form, b, a, bv, av *Value, forces, relevant *Paths) *Node {
	if relevant == nil {
		av = bv
	}
	if in.isWriteOnly() {
		return d.writeOnly(in, b, a, forces)
	}
	if f.strict() {
		if bv.IsAbsent() {
			bv = nil
		}
		if av.IsAbsent() {
			av = nil
		}
		if f.block && in != nil && in.kind == fScalar {
			bv, av = emptyIsNothing(bv, av)
		}
		if bv == nil && av == nil {
			return nil
		}
	}
	return d.Value(in, bv, av, forces, relevant)
}

// emptyIsNothing returns b and a. If one of them is an empty string and the other is missing or another string, it
// returns nil in place of the empty string. Providers with old SDKs do not distinguish empty strings from missing
// values, so Terraform and OpenTofu show neither.
func emptyIsNothing(b, a *Value) (*Value, *Value) {
	be, ae := b.IsEmptyString(), a.IsEmptyString()
	if be && !ae && (a == nil || a.Kind == StringValue) || be && ae && a.Sensitive == b.Sensitive {
		b = nil
	}
	if ae && b == nil {
		a = nil
	}
	return b, a
}

// IsEmptyString reports whether the value is an empty string.
func (v *Value) IsEmptyString() bool { return v != nil && v.Kind == StringValue && v.Text == "" }

// writeOnly returns a node if a write-only attribute takes part in the change. Its value is never visible. It takes
// part if it forces the replacement of the object. It also takes part if the configuration sets it, and if the object
// is created or replaced, or the version argument of the attribute changes. If the stored form of an object is shown
// (Stored), the node is Same. Otherwise writeOnly returns nil.
func (d *Differ) writeOnly(in *Form, b, a *Value, paths *Paths) *Node {
	n := &Node{Kind: WriteOnlyNode, Forces: paths.Has()}
	if n.Forces {
		n.Op = Update
		return n
	}
	vb, va := b.get(in.version), a.get(in.version)
	switch {
	case d.Stored:
		return n
	case a == nil, paths == nil || !paths.Sent:
		return nil
	case b == nil:
		n.Op = Add
	case !d.Replaced && (in.version == "" || vb.equal(va)):
		return nil
	case vb.IsAbsent():
		n.Op = Add
	default:
		n.Op = Update
	}
	return n
}

// unionNames returns the names of the parts of both dicts (objects or maps), sorted. A nil dict has no names.
func unionNames(b, a *Value) []string {
	var bn, an []string
	if b != nil {
		bn = b.Names
	}
	if a != nil {
		an = a.Names
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

// AttributeName returns a name in the form before an equals sign: in quotes if it is not an identifier.
func AttributeName(s string) string {
	first, _ := utf8.DecodeRuneInString(s)
	odd := func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.In(r, unicode.Mn, unicode.Mc)
	}
	if first != '_' && !unicode.IsLetter(first) || strings.IndexFunc(s, odd) >= 0 {
		return strconv.Quote(s)
	}
	return s
}
