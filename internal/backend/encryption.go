package backend

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
	"github.com/zclconf/go-cty/cty"
)

// Remote is how the state is encrypted that a data source reads, whose address is at.
func (e *Encryption) Remote(at string) *crypt.Target {
	for _, name := range append(remoteNames(at), "") {
		if t := e.remote[name]; t != nil {
			return t
		}
	}
	return nil
}

// remoteNames are what the configuration may call a data source: its name, with the names of the modules that it is in
// before it, and the key of the instance behind it. What is said of an instance goes before what is said of all, and that
// of a module's instance before that of the module, which is the last one.
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

// remoteName is an address as the names of remote_state_data_source blocks are held against: without the words that
// they may have, too.
func remoteName(at string) string {
	return strings.NewReplacer("module.", "", "data.terraform_remote_state.", "").Replace(at)
}

const badEncryption = "Invalid encryption configuration"

// Encryption evaluates what the configuration and the environment say of encryption. What is wrong with it is
// reported once.
func (d *Directory) Encryption() (*Encryption, bool) {
	d.encrypting.once.Do(func() { d.encrypting.is, d.encrypting.ok = d.encryption() })
	return d.encrypting.is, d.encrypting.ok
}

// EncryptionOfPlan makes the configuration of a saved plan say how states are encrypted, where that of the directory does
// not: the directory may have none.
func (d *Directory) EncryptionOfPlan() {
	if now := d.Present(); now == nil || now.Encryption == nil {
		d.encrypting = encrypting{}
	}
}

func (d *Directory) encryption() (*Encryption, bool) {
	said, ok := d.saidOfEncryption()
	if said == nil || !ok {
		return &Encryption{}, ok
	}
	root := d.Root()
	if root == nil {
		root = &config.Module{Dir: d.Env.Dir}
	}
	out := &Encryption{remote: map[string]*crypt.Target{}}
	b := d.builder(said, d.Static(root))
	if !b.ok {
		return out, false
	}
	out.State, out.Plan = b.target(said.State), b.target(said.Plan)
	for name, t := range said.Remote {
		out.remote[remoteName(name)] = b.target(t)
	}
	return out, b.ok
}

// CheckEncryption reports what is wrong with all that is said of encryption, as far as it can be told without values
// that the configuration does not have. No key is asked for, and no part is made.
func (d *Directory) CheckEncryption(tree *config.Tree, static *frame.StaticFrame) {
	said, ok := d.saidOfEncryption()
	if said == nil || !ok {
		return
	}
	b := d.builder(said, static)
	if b.checking = true; !b.ok {
		return
	}
	for _, p := range said.Providers {
		b.source(p.EncryptionRef)
	}
	for _, m := range said.Methods {
		b.cipher(m.EncryptionRef)
	}
	for _, name := range slices.Sorted(maps.Keys(said.Remote)) {
		b.target(said.Remote[name])
	}
	b.target(said.State)
	b.target(said.Plan)
	d.unread(said, tree)
}

// unread warns of what the configuration says of remote states that it does not read. The variable may be for more than one
// configuration.
func (d *Directory) unread(said *config.Encryption, tree *config.Tree) {
	read := map[string]bool{}
	tree.Root.Walk(func(n *config.Node) {
		for name := range n.Module.Resources {
			if name.Mode == addr.Data && name.Type == "terraform_remote_state" {
				read[strings.Join(append(n.Path.Path(), name.Name), ".")] = true
			}
		}
	})
	key := regexp.MustCompile(`\[("(\\.|[^"\\])*"|[^]"]*)\]`)
	for _, name := range slices.Sorted(maps.Keys(said.Remote)) {
		is := key.ReplaceAllString(remoteName(name), "")
		if at := said.Remote[name].Range; name != "" && !read[is] && at.Filename != config.EncryptionVariable {
			d.Env.Bag.Add(diag.Warningf("Encryption not in use", "This block is for the data source \"terraform_remote_state\" %q, which the configuration does not declare.%s", name, diag.DidYouMean(is, slices.Sorted(maps.Keys(read)))).At(at))
		}
	}
}

func (d *Directory) saidOfEncryption() (*config.Encryption, bool) {
	return config.ReadEncryption(d.Root(), d.Env.Getenv(config.EncryptionVariable), config.Options{Limits: d.Limits}, d.Env.Bag)
}

func (d *Directory) builder(said *config.Encryption, static *frame.StaticFrame) *encryptionBuilder {
	b := &encryptionBuilder{d: d, said: said, static: static, sources: map[string]*crypt.Source{}, ciphers: map[string]*crypt.Cipher{}, ok: true}
	known(b, said.Providers, "key_provider", crypt.ProviderKinds)
	known(b, said.Methods, "method", crypt.MethodKinds)
	if parts := slices.Concat(said.Providers, said.Methods); len(parts) > 0 && said.State == nil && said.Plan == nil && len(said.Remote) == 0 {
		d.Env.Bag.Add(diag.Warningf("Encryption not in use", "Key providers and methods are declared, and nothing says what is encrypted with them: states and plans are written in the clear. Add a block \"state\", and one \"plan\", that names the method, or remove the declarations.").At(parts[0].Range))
	}
	return b
}

// encryptionBuilder evaluates the parts of an encryption that are in use.
type encryptionBuilder struct {
	d       *Directory
	said    *config.Encryption
	static  *frame.StaticFrame
	sources map[string]*crypt.Source
	ciphers map[string]*crypt.Cipher
	way     []string // the key providers that are being made
	// checking makes no parts, and bears with what is not known and with methods that only the variable names.
	checking bool
	ok       bool
}

func (b *encryptionBuilder) error(at diag.Range, format string, a ...any) {
	b.ok = false
	b.d.Env.Bag.Add(diag.Errorf(badEncryption, format, a...).At(at))
}

// known holds the types of parts against those that there are.
func known[M any](b *encryptionBuilder, parts []*config.EncryptionPart, word string, kinds crypt.Kinds[M]) {
	for _, p := range parts {
		if _, ok := kinds.Find(p.Type); !ok {
			b.error(p.Range, "There is no %s of the type %q. There are: %s.", word, p.Type, strings.Join(kinds.Names(), ", "))
		}
	}
}

// target evaluates a block that says which method is used.
func (b *encryptionBuilder) target(t *config.EncryptionTarget) *crypt.Target {
	if t == nil {
		return nil
	}
	out := &crypt.Target{Block: t.Block, At: t.Range}
	if t.Enforced != nil {
		v, ok := b.static.Eval(t.Enforced, "encryption", b.d.Env.Bag)
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
				b.error(f.Range, "The block %q has no method: neither the configuration nor %s sets \"method\" in it. Without a method Lethe neither reads nor writes what the block is about. Set one, or remove the block.", t.Block, config.EncryptionVariable)
			}
			return nil
		}
		c := b.cipher(*f.Method)
		if c == nil {
			return nil
		}
		if out.Enforced && f.Method.Type == "unencrypted" {
			b.error(f.Method.Range, "The block %q says enforced = true, and its method %s encrypts nothing. Use another method, or set enforced = false until everything is encrypted.", t.Block, c.Name)
			return nil
		}
		if out.Write == nil {
			out.Write = c
		}
		out.Read = append(out.Read, c)
	}
	return out
}

// cipher evaluates a method.
func (b *encryptionBuilder) cipher(ref config.EncryptionRef) *crypt.Cipher {
	name := "method." + ref.Type + "." + ref.Name
	if c, ok := b.ciphers[name]; ok {
		return c
	}
	b.ciphers[name] = nil
	m := b.said.MethodOf(ref)
	if m == nil {
		b.error(ref.Range, "There is no method %q %q in the encryption block.", ref.Type, ref.Name)
		return nil
	}
	if method, keys, _, ok := evaluate(b, m, name, crypt.KeysArgument, crypt.MethodKinds); ok {
		b.ciphers[name] = &crypt.Cipher{Name: name, Method: method, Keys: keys}
	}
	return b.ciphers[name]
}

// source evaluates a key provider.
func (b *encryptionBuilder) source(ref config.EncryptionRef) *crypt.Source {
	name := "key_provider." + ref.Type + "." + ref.Name
	if s, ok := b.sources[name]; ok {
		if s == nil && slices.Contains(b.way, name) {
			b.error(ref.Range, "The key provider %s cannot use its own keys: %s. Remove one \"chain\" of this circle.", name, strings.Join(append(b.way, name), " ← "))
		}
		return s
	}
	b.sources[name] = nil
	b.way = append(b.way, name)
	defer func() { b.way = b.way[:len(b.way)-1] }()
	p := b.said.Provider(ref)
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

// evaluate makes a part, and what it refers to by the argument, nil for nothing. s are its settings.
func evaluate[M any](b *encryptionBuilder, p *config.EncryptionPart, name, argument string, kinds crypt.Kinds[M]) (made M, uses *crypt.Source, s store.Settings, ok bool) {
	kind, _ := kinds.Find(p.Type)
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

// settings evaluates the settings of a part. Secrets in them are told to the guard.
func (b *encryptionBuilder) settings(p *config.EncryptionPart, sch *crypt.Schema, name string) (store.Settings, bool) {
	v, ok := b.static.Body(p.Body, sch, "encryption", b.d.Env.Bag)
	if ok && !b.checking && !v.Raw.IsWhollyKnown() {
		b.error(p.Range, "The settings of %s must be known before anything is planned. Set the variables that they are made from.", name)
		ok = false
	}
	if !ok || b.checking {
		b.ok = b.ok && ok
		return store.Settings{Config: v.Raw}, ok
	}
	s := b.d.storeSettings(sch, v.Raw, "the settings of "+name)
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
