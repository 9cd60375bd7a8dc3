package addr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
)

// A Target selects a module, a resource or an instance of a resource. If a step of its address has no key, it selects
// all instances of this step.
type Target struct {
	path     []targetStep
	Mode     Mode // 0: a whole module
	Type     string
	Name     string
	Key      Key
	KeyGiven bool // the address has a key after the name of the resource
}

type targetStep struct {
	name  string
	key   Key
	given bool
}

// ParseTarget parses the address of a module, a resource or an instance, in the syntax of -target, -exclude and the
// state commands. It permits spaces beside dots and brackets, and the prefix "resource." of a managed resource. Any
// other text is an error.
func ParseTarget(s string) (Target, error) {
	p := parser{in: withoutSpace(s)}
	t, err := p.target()
	if err != nil {
		return Target{}, fmt.Errorf("%q is not a valid resource address: %w", s, err)
	}
	return t, nil
}

// ParseInstance parses the address of one resource instance. Missing keys become NoKey. It returns an error for the
// address of a module.
func ParseInstance(s string) (Instance, error) {
	t, err := ParseTarget(s)
	if err != nil {
		return Instance{}, err
	}
	if t.Mode == 0 {
		return Instance{}, fmt.Errorf("%q is a module address, and a resource instance is needed here", s)
	}
	return t.AsInstance(), nil
}

// ParseResource parses the address of a resource in one module instance. Missing keys of modules become NoKey. It
// returns an error if the address has an instance key at its end, or is the address of a module.
func ParseResource(s string) (AbsResource, error) {
	i, err := ParseInstance(s)
	if err == nil && !i.Key.IsNone() {
		err = fmt.Errorf("%q has an instance key, and a whole resource is needed here", s)
	}
	return i.Abs(), err
}

// ParseModuleInstance parses `module.a["x"].module.b`. Missing keys become NoKey. It returns the root for "", and an
// error for the address of a resource.
func ParseModuleInstance(s string) (ModuleInstance, error) {
	if s == "" {
		return ModuleInstance{}, nil
	}
	t, err := ParseTarget(s)
	if err != nil {
		return ModuleInstance{}, err
	}
	if t.Mode != 0 {
		return ModuleInstance{}, fmt.Errorf("%q is a resource address, and a module is needed here", s)
	}
	return t.AsModule(), nil
}

// ParseProviderInstance parses a provider address in the syntax of state files, with or without a key. It also parses
// the syntax of older files, provider.aws.alias, for which it returns the namespace "-". Any other text is an error.
func ParseProviderInstance(s string) (ProviderInstance, error) {
	p := parser{in: s}
	i, err := p.providerInstance()
	if err != nil {
		return ProviderInstance{}, fmt.Errorf("%q is not a valid provider configuration address: %w", s, err)
	}
	return i, nil
}

// AsModule returns the module instance that t names, or that contains the resource of t. Missing keys become NoKey.
func (t Target) AsModule() ModuleInstance {
	var m ModuleInstance
	for _, s := range t.path {
		m = m.Child(s.name, s.key)
	}
	return m
}

// AsInstance returns the resource instance of t, which must have a Mode. Missing keys become NoKey.
func (t Target) AsInstance() Instance {
	return Instance{Module: t.AsModule(), Mode: t.Mode, Type: t.Type, Name: t.Name, Key: t.Key}
}

// Module returns the module path of t without keys.
func (t Target) Module() Module {
	var m Module
	for _, s := range t.path {
		m = m.Child(s.name)
	}
	return m
}

// Resource returns the declaration that t selects. t must have a Mode.
func (t Target) Resource() Resource {
	return Resource{Module: t.Module(), Mode: t.Mode, Type: t.Type, Name: t.Name}
}

// Contains reports whether t selects i. A module selects the instances in it and in all modules below it.
func (t Target) Contains(i Instance) bool {
	if t.Mode != 0 && (t.Mode != i.Mode || t.Type != i.Type || t.Name != i.Name || t.KeyGiven && t.Key != i.Key) {
		return false
	}
	return t.containsModule(i.Module, t.Mode != 0)
}

// ContainsModule reports whether t selects a module, and m is an instance of this module or is inside such an instance.
func (t Target) ContainsModule(m ModuleInstance) bool {
	return t.Mode == 0 && t.containsModule(m, false)
}

func (t Target) containsModule(m ModuleInstance, exact bool) bool {
	d := m.Depth()
	if d < len(t.path) || exact && d != len(t.path) {
		return false
	}
	for ; d > len(t.path); d-- {
		m = m.Parent()
	}
	for k := len(t.path) - 1; k >= 0; k-- {
		name, key := m.Call()
		if s := t.path[k]; s.name != name || s.given && s.key != key {
			return false
		}
		m = m.Parent()
	}
	return true
}

// Covers reports whether t may select instances of the declaration r.
func (t Target) Covers(r Resource) bool {
	if t.Mode == 0 {
		return r.Module.Under(t.Module())
	}
	return t.Resource() == r
}

func (t Target) String() string {
	var b strings.Builder
	for _, s := range t.path {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString("module.")
		b.WriteString(s.name)
		s.key.write(&b)
	}
	if t.Mode == 0 {
		return b.String()
	}
	return join(b.String(), t.Mode.prefix()+t.Type+"."+t.Name) + t.Key.String()
}

// parser parses addresses from left to right.
type parser struct {
	in  string
	pos int
}

func (p *parser) done() bool { return p.pos == len(p.in) }

func (p *parser) eat(c byte) bool {
	if p.pos < len(p.in) && p.in[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) want(c byte) error {
	if !p.eat(c) {
		return p.errorf("%q is missing", c)
	}
	return nil
}

func (p *parser) errorf(format string, a ...any) error {
	return fmt.Errorf("%s at position %d", fmt.Sprintf(format, a...), p.pos+1)
}

// ident parses a name: letters, digits, underscores and dashes. The first character is a letter or underscore. Every
// character outside of ASCII counts as a letter. ident returns an error if no name is at the position.
func (p *parser) ident() (string, error) {
	start := p.pos
	for p.pos < len(p.in) {
		r, n := utf8.DecodeRuneInString(p.in[p.pos:])
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f && r != utf8.RuneError
		if !letter && (p.pos == start || !(r == '-' || r >= '0' && r <= '9')) {
			break
		}
		p.pos += n
	}
	if p.pos == start {
		return "", p.errorf("a name is missing")
	}
	return p.in[start:p.pos], nil
}

// key parses an optional `[0]` or `["a"]`. The boolean is true if a key is present. An invalid key is an error.
func (p *parser) key() (Key, bool, error) {
	if !p.eat('[') {
		return NoKey, false, nil
	}
	rest := p.in[p.pos:]
	if strings.HasPrefix(rest, `"`) {
		s, n, err := unquote(rest)
		if err != nil {
			return NoKey, false, p.errorf("%v", err)
		}
		p.pos += n
		return StringKey(s), true, p.want(']')
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return NoKey, false, p.errorf("the bracket is not closed")
	}
	n, ok := index(rest[:end])
	if !ok {
		return NoKey, false, p.errorf("an instance key is a whole number or a quoted string, and %q is neither", rest[:end])
	}
	p.pos += end + 1
	return IntKey(n), true, nil
}

// index parses a number in the syntax of the language: without a sign, and perhaps with an exponent. It returns false
// if s is not a whole number, or has more than 20 bytes.
func index(s string) (int, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' || len(s) > 20 {
		return 0, false
	}
	v, err := cty.ParseNumberVal(s)
	if err != nil {
		return 0, false
	}
	k, ok := KeyOf(v)
	n, _ := k.Int()
	return n, ok
}

// withoutSpace removes the spaces that the language permits outside of quotes: at both ends, and beside dots and
// brackets. It keeps spaces inside a name, so that the parser rejects them.
func withoutSpace(s string) string {
	if !strings.ContainsAny(s, " \t") {
		return s
	}
	var b strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted && i+1 < len(s):
			b.WriteByte(c)
			i++
			b.WriteByte(s[i])
			continue
		case c == '"':
			quoted = !quoted
		case (c == ' ' || c == '\t') && !quoted:
			before, after := b.String(), strings.TrimLeft(s[i:], " \t")
			if before == "" || after == "" || strings.ContainsAny(before[len(before)-1:]+after[:1], ".[]\"") {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// unquote parses the quoted string of the language at the start of s, and returns its value and its length in s. The
// value is in Unicode's normal form C, like all strings of the language. If s is no valid string, or contains a
// template sequence, unquote returns an error.
func unquote(s string) (string, int, error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return cty.NormalizeString(b.String()), i + 1, nil
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case '"', '\\':
				b.WriteByte(s[i])
			case 'u', 'U':
				n := 4
				if s[i] == 'U' {
					n = 8
				}
				if i+n >= len(s) {
					return "", 0, fmt.Errorf("the escape at the end of the key is cut off")
				}
				r, err := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
				if err != nil {
					return "", 0, fmt.Errorf("%q is not a Unicode escape", s[i-1:i+1+n])
				}
				b.WriteRune(rune(r))
				i += n
			default:
				return "", 0, fmt.Errorf("%q is not a known escape", s[i-1:i+1])
			}
		case (c == '$' || c == '%') && strings.HasPrefix(s[i+1:], string(c)+"{"):
			b.WriteByte(c)
			i++
		case (c == '$' || c == '%') && strings.HasPrefix(s[i+1:], "{"):
			return "", 0, fmt.Errorf("an instance key must be a plain string")
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, fmt.Errorf("the quote is not closed")
}

// modules parses leading module steps, such as module.a["k"].module.b, and the dot after them. It stops before any
// other step.
func (p *parser) modules() ([]targetStep, error) {
	var path []targetStep
	for strings.HasPrefix(p.in[p.pos:], "module.") {
		p.pos += len("module.")
		name, err := p.ident()
		if err != nil {
			return nil, err
		}
		key, given, err := p.key()
		if err != nil {
			return nil, err
		}
		path = append(path, targetStep{name, key, given})
		if p.done() {
			break
		}
		if err := p.want('.'); err != nil {
			return nil, err
		}
	}
	return path, nil
}

func (p *parser) target() (Target, error) {
	var t Target
	var err error
	if t.path, err = p.modules(); err != nil {
		return t, err
	}
	if p.done() && len(t.path) > 0 && !strings.HasSuffix(p.in, ".") {
		return t, nil
	}
	first, err := p.ident()
	if err != nil {
		return t, err
	}
	t.Mode, t.Type = Managed, first
	mode := map[string]Mode{"data": Data, "ephemeral": Ephemeral, "resource": Managed}[first]
	if mode != 0 {
		t.Mode = mode
		if err := p.more(".TYPE.NAME"); err != nil {
			return t, err
		}
		if t.Type, err = p.ident(); err != nil {
			return t, err
		}
	}
	if err := p.more(".NAME"); err != nil {
		return t, err
	}
	if t.Name, err = p.ident(); err != nil {
		return t, err
	}
	if first == Action.Block() && p.eat('.') {
		t.Mode, t.Type = Action, t.Name
		if t.Name, err = p.ident(); err != nil {
			return t, err
		}
	}
	if t.Key, t.KeyGiven, err = p.key(); err != nil {
		return t, err
	}
	if !p.done() {
		return t, p.errorf("after the name of a resource only an instance key may come, such as [0] or [\"a\"], and not %q", p.in[p.pos:])
	}
	return t, nil
}

// more parses the dot before the rest of an address. If the address ends instead, it returns an error that names the
// missing rest.
func (p *parser) more(rest string) error {
	switch {
	case !p.done():
		return p.want('.')
	case p.in == "module" || strings.HasSuffix(p.in, ".module"):
		return fmt.Errorf("a module is given by its name, such as %s.NAME", p.in)
	}
	return fmt.Errorf("a resource is given by its type and its name, such as %s%s", p.in, rest)
}

func (p *parser) providerInstance() (ProviderInstance, error) {
	var i ProviderInstance
	path, err := p.modules()
	if err != nil {
		return i, err
	}
	for _, s := range path {
		if s.given {
			return i, fmt.Errorf("a provider configuration belongs to a module, not to an instance of it")
		}
		i.Module = i.Module.Child(s.name)
	}
	if !strings.HasPrefix(p.in[p.pos:], "provider") {
		return i, p.errorf("it must contain %q", "provider")
	}
	p.pos += len("provider")
	if p.eat('.') { // the syntax of older files: provider.aws.alias
		name, err := p.ident()
		if err != nil {
			return i, err
		}
		i.Provider = Provider{DefaultHost, LegacyNamespace, strings.ToLower(name)}
	} else {
		k, _, err := p.key()
		if err != nil {
			return i, err
		}
		src, ok := k.Str()
		if !ok {
			return i, p.errorf("the provider's source address in brackets is missing")
		}
		if i.Provider, err = ParseProvider(src); err != nil {
			return i, err
		}
	}
	if p.eat('.') {
		if i.Alias, err = p.ident(); err != nil {
			return i, err
		}
	}
	if i.Key, _, err = p.key(); err != nil {
		return i, err
	}
	if !p.done() {
		return i, p.errorf("unexpected %q", p.in[p.pos:])
	}
	return i, nil
}

// Keyed reports whether any step of t has an instance key. If so, t may select only a part of a declaration.
func (t Target) Keyed() bool { return t.KeyGiven || t.InKeyedModule() }

// InKeyedModule reports whether a module step of t has an instance key.
func (t Target) InKeyedModule() bool {
	return slices.ContainsFunc(t.path, func(s targetStep) bool { return s.given })
}

// Of returns t with r in place of its resource. t selects a resource of the same module as r. If keyed is true, the
// result has the key of t. Otherwise it selects all instances.
func (t Target) Of(r Resource, keyed bool) Target {
	t.Mode, t.Type, t.Name = r.Mode, r.Type, r.Name
	if !keyed {
		t.Key, t.KeyGiven = NoKey, false
	}
	return t
}

// Inside returns a target for a resource r that is declared in or below the module of t. It selects r in the module
// instances that t selects. If given is true, it selects only the instance with this key.
func (t Target) Inside(r Resource, key Key, given bool) Target {
	path := slices.Clone(t.path)
	for _, name := range r.Module.Path()[len(path):] {
		path = append(path, targetStep{name: name})
	}
	return Target{path, r.Mode, r.Type, r.Name, key, given}
}

// Enclosing returns the modules that contain t, with their keys, the outermost first. If t is a module, the last is t.
func (t Target) Enclosing() []Target {
	var out []Target
	for i := range t.path {
		out = append(out, Target{path: t.path[: i+1 : i+1]})
	}
	return out
}

// KeyedItself reports whether the last step of t has an instance key.
func (t Target) KeyedItself() bool {
	if t.Mode != 0 || len(t.path) == 0 {
		return t.KeyGiven
	}
	return t.path[len(t.path)-1].given
}

// ModuleIn returns the module instance of t relative to base. Missing keys become NoKey.
func (t Target) ModuleIn(base ModuleInstance) ModuleInstance {
	for _, s := range t.path {
		base = base.Child(s.name, s.key)
	}
	return base
}

// Rebase returns the address of instance i after a move from the target t to the target in the argument to. Both
// targets are relative to the module instance base, and i must be in or below base. Rebase returns i and false if t
// does not select i. If neither target has a key at its end, all instances move and keep their keys. All other missing
// keys mean NoKey.
func (t Target) Rebase(to Target, base ModuleInstance, i Instance) (Instance, bool) {
	whole := !t.KeyedItself() && !to.KeyedItself()
	inner := relative(i.Module, base)
	if len(inner) < len(t.path) || t.Mode != 0 && len(inner) != len(t.path) {
		return i, false
	}
	last := len(t.path) - 1
	for k, s := range t.path {
		if anyKey := whole && t.Mode == 0 && k == last; inner[k].name != s.name || !anyKey && inner[k].key != s.key {
			return i, false
		}
	}
	if t.Mode != 0 && (t.Mode != i.Mode || t.Type != i.Type || t.Name != i.Name || !whole && t.Key != i.Key) {
		return i, false
	}
	m := to.ModuleIn(base)
	if whole && t.Mode == 0 {
		name, _ := m.Call()
		m = m.Parent().Child(name, inner[last].key)
	}
	for _, s := range inner[len(t.path):] {
		m = m.Child(s.name, s.key)
	}
	out := i
	out.Module = m
	if to.Mode != 0 {
		out.Mode, out.Type, out.Name = to.Mode, to.Type, to.Name
		if !whole {
			out.Key = to.Key
		}
	}
	return out, true
}

// relative returns the steps from base down to m. If m is not in base, it returns the steps from the root.
func relative(m, base ModuleInstance) []targetStep {
	var steps []targetStep
	for m != base && !m.IsRoot() {
		name, key := m.Call()
		steps = append(steps, targetStep{name: name, key: key})
		m = m.Parent()
	}
	slices.Reverse(steps)
	return steps
}
