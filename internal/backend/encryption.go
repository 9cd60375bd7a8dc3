package backend

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// Encryption is the evaluated encryption configuration. A nil target means that nothing is encrypted.
type Encryption struct {
	State, Plan *crypt.Target
	remote      map[string]*crypt.Target // the targets for states that terraform_remote_state reads, by the name in the configuration; "" is the default
}

// Remote returns the encryption of the state that a terraform_remote_state data source reads. The parameter at is the
// address of the data source. Remote returns nil if no encryption is configured for that state.
func (e *Encryption) Remote(at string) *crypt.Target {
	for _, name := range append(remoteNames(at), "") {
		if t := e.remote[name]; t != nil {
			return t
		}
	}
	return nil
}

// remoteNames returns the names under which the configuration may set the encryption for the data source with an
// address, in the order of precedence. A name consists of the module path, the name of the data source and its instance
// key. A name with the instance key precedes a name without it. A name with module instance keys precedes a name
// without them.
func remoteNames(at string) []string {
	one, err := addr.ParseInstance(at)
	if err != nil {
		return []string{remoteName(at)}
	}
	all := one
	all.Key = addr.NoKey
	names := []string{at, all.String()}
	for _, i := range []addr.Instance{one, all} {
		i.Module = i.Module.Module().Unkeyed()
		names = append(names, i.String())
	}
	for n := range names {
		names[n] = remoteName(names[n])
	}
	return names
}

// remoteName returns an address in the form of the names of remote_state_data_source blocks, which may omit words such
// as "module".
func remoteName(at string) string {
	return strings.NewReplacer("module.", "", "data.terraform_remote_state.", "").Replace(at)
}

const badEncryption = "Invalid encryption configuration"

// encryptionConfig evaluates the encryption settings of the configuration and of the environment, once and on first
// use. Its method get may be called concurrently.
type encryptionConfig struct {
	env       *workspace.Env
	root      func() *config.Module
	static    func(*config.Module) *frame.StaticFrame
	limits    limits.Limits
	clients   *clients // makes the clients of key services
	evaluated *evaluatedEncryption
}

type evaluatedEncryption struct {
	once  sync.Once
	value *Encryption
	ok    bool
}

// newEncryptionConfig returns the encryption of a directory. It evaluates nothing.
func newEncryptionConfig(o Options, c *clients) *encryptionConfig {
	return &encryptionConfig{env: o.Env, root: o.Root, static: o.Static, limits: o.Limits, clients: c, evaluated: &evaluatedEncryption{}}
}

// get returns the evaluated encryption. It returns false if the settings are invalid. The first call evaluates the
// settings and reports the errors. Later calls return the same result.
func (c *encryptionConfig) get() (*Encryption, bool) {
	e := c.evaluated
	e.once.Do(func() { e.value, e.ok = c.evaluate() })
	return e.value, e.ok
}

// reset makes the next call of get evaluate the settings again.
func (c *encryptionConfig) reset() { c.evaluated = &evaluatedEncryption{} }

// evaluate evaluates the encryption settings. It builds only the key providers and methods that states, plans or remote
// states use. If the settings are invalid, it reports errors and returns false.
func (c *encryptionConfig) evaluate() (*Encryption, bool) {
	declared, ok := c.read()
	if declared == nil || !ok {
		return &Encryption{}, ok
	}
	root := c.root()
	if root == nil {
		root = &config.Module{Dir: c.env.Dir}
	}
	out := &Encryption{remote: map[string]*crypt.Target{}}
	b := c.builder(declared, c.static(root))
	if !b.ok {
		return out, false
	}
	out.State, out.Plan = b.target(declared.State), b.target(declared.Plan)
	for name, t := range declared.Remote {
		out.remote[remoteName(name)] = b.target(t)
	}
	return out, b.ok
}

// check checks all key providers, methods and targets of the encryption settings, and warns about unused settings for
// remote states.
func (c *encryptionConfig) check(tree *config.Tree, static *frame.StaticFrame) {
	declared, ok := c.read()
	if declared == nil || !ok {
		return
	}
	b := c.builder(declared, static)
	if b.checking = true; !b.ok {
		return
	}
	for _, p := range declared.Providers {
		b.source(p.EncryptionRef)
	}
	for _, m := range declared.Methods {
		b.cipher(m.EncryptionRef)
	}
	for _, name := range slices.Sorted(maps.Keys(declared.Remote)) {
		b.target(declared.Remote[name])
	}
	b.target(declared.State)
	b.target(declared.Plan)
	c.warnUnused(declared, tree)
}

// warnUnused warns about encryption settings for remote states that the configuration does not read. It does not warn
// about settings in the environment variable, which may serve several configurations.
func (c *encryptionConfig) warnUnused(declared *config.Encryption, tree *config.Tree) {
	read := map[string]bool{}
	tree.Root.Walk(func(n *config.Node) {
		for name := range n.Module.Resources {
			if name.Mode == addr.Data && name.Type == "terraform_remote_state" {
				read[strings.Join(append(n.Path.Path(), name.Name), ".")] = true
			}
		}
	})
	key := regexp.MustCompile(`\[("(\\.|[^"\\])*"|[^]"]*)\]`)
	for _, name := range slices.Sorted(maps.Keys(declared.Remote)) {
		is := key.ReplaceAllString(remoteName(name), "")
		if at := declared.Remote[name].Range; name != "" && !read[is] && at.Filename != config.EncryptionVariable {
			c.env.Bag.Add(diag.Warningf("Encryption not in use", "This block is for the data source \"terraform_remote_state\" %q, which the configuration does not declare.%s", name, diag.DidYouMean(is, slices.Sorted(maps.Keys(read)))).At(at))
		}
	}
}

// read returns the encryption blocks of the configuration and of the environment variable, combined, or nil without
// such a block. If a declaration is invalid, it reports an error and returns false.
func (c *encryptionConfig) read() (*config.Encryption, bool) {
	return config.ReadEncryption(c.root(), c.env.Getenv(config.EncryptionVariable), config.Options{Limits: c.limits}, c.env.Bag)
}

// builder returns a builder for the declared encryption. It reports an error for each key provider or method of an
// unknown type. If key providers or methods are declared, but no target that could use them, it warns.
func (c *encryptionConfig) builder(declared *config.Encryption, static *frame.StaticFrame) *encryptionBuilder {
	b := &encryptionBuilder{c: c, declared: declared, static: static, sources: map[string]*crypt.Source{}, ciphers: map[string]*crypt.Cipher{}, ok: true}
	known(b, declared.Providers, "key_provider", crypt.ProviderKinds)
	known(b, declared.Methods, "method", crypt.MethodKinds)
	if parts := slices.Concat(declared.Providers, declared.Methods); len(parts) > 0 && declared.State == nil && declared.Plan == nil && len(declared.Remote) == 0 {
		c.env.Bag.Add(diag.Warningf("Encryption not in use", "The encryption block declares key providers or methods but does not use them, so states and plans are not encrypted. Add the blocks \"state\" and \"plan\" with a method, or remove the declarations.").At(parts[0].Range))
	}
	return b
}

// encryptionBuilder evaluates the key providers and methods that targets (states, plans, remote states) use.
type encryptionBuilder struct {
	c        *encryptionConfig
	declared *config.Encryption
	static   *frame.StaticFrame
	sources  map[string]*crypt.Source
	ciphers  map[string]*crypt.Cipher
	trace    []string // the key providers whose evaluation is in progress, to find cycles
	// If checking is true, the builder only checks settings. It builds nothing, and accepts unknown values and methods
	// that only the environment variable defines.
	checking bool
	ok       bool
}

func (b *encryptionBuilder) error(at diag.Range, format string, a ...any) {
	b.ok = false
	b.c.env.Bag.Add(diag.Errorf(badEncryption, format, a...).At(at))
}

// known reports an error for each key provider or method in parts whose type does not exist. word is "key_provider" or
// "method".
func known[M any](b *encryptionBuilder, parts []*config.EncryptionPart, word string, kinds crypt.Kinds[M]) {
	for _, p := range parts {
		if _, ok := kinds.Find(p.Type); !ok {
			b.error(p.Range, "There is no %s of the type %q. There are: %s.", word, p.Type, strings.Join(kinds.Names(), ", "))
		}
	}
}

// target evaluates a block that selects a method for one kind of files, such as "state" or "plan". It returns nil if t
// is nil, and after an error. While the builder only checks, it also returns nil if the block needs an unknown value or
// sets no method.
func (b *encryptionBuilder) target(t *config.EncryptionTarget) *crypt.Target {
	if t == nil {
		return nil
	}
	out := &crypt.Target{Block: t.Block, At: t.Range}
	if t.Enforced != nil {
		v, ok := b.static.Eval(t.Enforced, "encryption", b.c.env.Bag)
		switch {
		case !ok:
			b.ok = false
			return nil
		case b.checking && !v.Raw.IsKnown():
			return nil
		case v.Raw.Type() != cty.Bool || !v.Raw.IsKnown() || v.Raw.IsNull():
			b.error(t.Enforced.Range(), "The argument \"enforced\" must be true or false.")
			return nil
		}
		out.Enforced = v.Raw.True()
	}
	for f := t; f != nil; f = f.Fallback {
		if f.Method == nil {
			if f == t && !b.checking {
				b.error(f.Range, "The block %q has no method: neither the configuration nor %s sets \"method\". Set a method, or remove the block.", t.Block, config.EncryptionVariable)
			}
			return nil
		}
		c := b.cipher(*f.Method)
		if c == nil {
			return nil
		}
		if out.Enforced && f.Method.Type == "unencrypted" {
			b.error(f.Method.Range, "The block %q sets enforced = true, but its method %s does not encrypt. Use another method, or set enforced = false until everything is encrypted.", t.Block, c.Name)
			return nil
		}
		if out.Write == nil {
			out.Write = c
		}
		out.Read = append(out.Read, c)
	}
	return out
}

// cipher evaluates an encryption method, once for each name. It returns nil after an error.
func (b *encryptionBuilder) cipher(ref config.EncryptionRef) *crypt.Cipher {
	name := "method." + ref.Type + "." + ref.Name
	if c, ok := b.ciphers[name]; ok {
		return c
	}
	b.ciphers[name] = nil
	m := b.declared.MethodOf(ref)
	if m == nil {
		b.error(ref.Range, "There is no method %q %q in the encryption block.", ref.Type, ref.Name)
		return nil
	}
	if method, keys, _, ok := evaluate(b, m, name, crypt.KeysArgument, crypt.MethodKinds); ok {
		b.ciphers[name] = &crypt.Cipher{Name: name, Method: method, Keys: keys}
	}
	return b.ciphers[name]
}

// source evaluates a key provider, once for each name. It returns nil after an error.
func (b *encryptionBuilder) source(ref config.EncryptionRef) *crypt.Source {
	name := "key_provider." + ref.Type + "." + ref.Name
	if s, ok := b.sources[name]; ok {
		if s == nil && slices.Contains(b.trace, name) {
			b.error(ref.Range, "The key provider %s depends on itself: %s. Remove one \"chain\" of this cycle.", name, strings.Join(append(b.trace, name), " ← "))
		}
		return s
	}
	b.sources[name] = nil
	b.trace = append(b.trace, name)
	defer func() { b.trace = b.trace[:len(b.trace)-1] }()
	p := b.declared.Provider(ref)
	if p == nil {
		b.error(ref.Range, "There is no key provider %q %q in the encryption block.", ref.Type, ref.Name)
		return nil
	}
	kind, _ := crypt.ProviderKinds.Find(p.Type)
	provider, chain, s, ok := evaluate(b, p, name, crypt.ChainArgument, crypt.ProviderKinds)
	if !ok {
		return nil
	}
	if p.Type == "pbkdf2" {
		if v := s.Config.GetAttr("passphrase"); v.IsKnown() && v.IsNull() == (chain == nil) {
			b.error(p.Range, "%s needs either a \"passphrase\" or a \"chain\" to another key provider.", name)
			return nil
		}
	}
	out := &crypt.Source{Name: name, Meta: name, Provider: provider, Chain: chain}
	if alias, ok := s.Text(crypt.AliasArgument); ok && alias != "" {
		out.Meta = alias
	}
	if err := out.CheckMeta(); err != nil {
		b.error(b.static.Where(p.Body, kind.Schema, p.Range, cty.GetAttrPath(crypt.AliasArgument)), "%s cannot be used: %s.", name, err)
		return nil
	}
	b.sources[name] = out
	return out
}

// evaluate builds the method or the key provider that p declares. argument is the name of the argument that may refer
// to a key provider; evaluate returns that key provider in uses. s has the settings of p. ok is false after an error.
func evaluate[M any](b *encryptionBuilder, p *config.EncryptionPart, name, argument string, kinds crypt.Kinds[M]) (made M, uses *crypt.Source, s store.Settings, ok bool) {
	kind, _ := kinds.Find(p.Type)
	kind.Schema = asWritten(kind.Schema, p)
	s, ok = b.settings(p, kind.Schema, name)
	switch {
	case !ok:
		return made, nil, s, false
	case p.Uses != nil && kind.Argument == crypt.Never:
		b.error(p.Uses.Range, "%s does not accept the argument %q. Remove it.", name, argument)
		return made, nil, s, false
	case p.Uses == nil && kind.Argument == crypt.Always:
		b.error(p.Range, "%s needs %q: a reference to a key provider, such as key_provider.pbkdf2.main.", name, argument)
		return made, nil, s, false
	case p.Uses != nil:
		if uses = b.source(*p.Uses); uses == nil {
			return made, nil, s, false
		}
	}
	if b.checking {
		return made, uses, s, true
	}
	made, err := kind.Make(s)
	for _, err := range store.Mistakes(err) {
		at := p.Range
		var bad *store.SettingError
		if errors.As(err, &bad) && !secret(kind.Schema, bad.Path) {
			at = b.static.Where(p.Body, kind.Schema, at, bad.Path)
		}
		b.error(at, "%s cannot be used: %s.", name, err)
	}
	return made, uses, s, err == nil
}

// asWritten returns the schema for the settings of p. A setting that is an object may be written as an argument or as a
// block: OpenTofu permits only a block for "endpoints", and only an argument for "assume_role". The values of both forms
// have the same type.
func asWritten(sch *crypt.Schema, p *config.EncryptionPart) *crypt.Schema {
	out := &crypt.Schema{}
	for _, a := range sch.Attrs {
		if a.Object == nil || !p.HasBlock(a.Name) {
			out.Attrs = append(out.Attrs, a)
			continue
		}
		out.Blocks = append(out.Blocks, &schema.Nested{Name: a.Name, Block: &schema.Block{Attrs: a.Object.Attrs}, Nesting: schema.Single, Max: 1})
	}
	return out
}

// settings evaluates the settings of a key provider or a method, and registers their secrets, so that output hides
// them. If the settings are invalid or not known before planning, it reports an error and returns false.
func (b *encryptionBuilder) settings(p *config.EncryptionPart, sch *crypt.Schema, name string) (store.Settings, bool) {
	v, ok := b.static.Body(p.Body, sch, "encryption", b.c.env.Bag)
	if ok && !b.checking && !v.Raw.IsWhollyKnown() {
		b.error(p.Range, "The settings of %s must be known before planning. Set the variables that they refer to.", name)
		ok = false
	}
	if !ok || b.checking {
		b.ok = b.ok && ok
		return store.Settings{Config: v.Raw}, ok
	}
	s := b.c.clients.settings(sch, v.Raw, "the settings of "+name)
	if s.Learn != nil {
		for _, paths := range [][]cty.Path{v.PathsOf(mark.Sensitive), v.PathsOf(mark.Ephemeral)} {
			for _, path := range paths {
				if hidden, err := path.Apply(v.Raw); err == nil && hidden.Type() == cty.String && !hidden.IsNull() {
					s.Learn(hidden.AsString())
				}
			}
		}
	}
	return s, true
}
