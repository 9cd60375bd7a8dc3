package fetch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/diag"
)

// atOnce is the maximum number of providers that are requested or downloaded at the same time.
const atOnce = 32

// Install installs an allowed version of every needed provider, and writes the selected versions into the lock file in
// memory. It does nothing for built-in providers and development overrides. If upgrade is true, it may select versions
// other than the locked ones. It returns false if it reported an error.
func (p *Providers) Install(ctx context.Context, needs []Need, l *Lockfile, upgrade bool, bag *diag.Bag) bool {
	ok := true
	var todo []*wanted
	for _, n := range needs {
		if _, overridden := p.Sources.Override(n.Provider); overridden || n.Provider.IsBuiltin() {
			continue
		}
		w, good := p.want(n, l, upgrade, bag)
		if ok = ok && good; w != nil {
			todo = append(todo, w)
		}
	}
	return p.settle(ctx, todo, bag, func(w *wanted) bool { return p.fetch(ctx, w) }, func(w *wanted) { p.enter(w, l) }) && ok
}

// settle chooses a version of each provider in todo. It calls at(w) for each provider w, several calls concurrently.
// Afterwards it calls then(w) for each provider w for which at(w) was true, one call after the other, in the order of
// todo. settle reports the diagnostics of all providers. After an interrupt it reports only the first error, because
// the errors of all providers are equal. It returns false if a version could not be chosen, or if at(w) was false.
func (p *Providers) settle(ctx context.Context, todo []*wanted, bag *diag.Bag, at func(*wanted) bool, then func(*wanted)) bool {
	if len(todo) == 0 {
		return true
	}
	methods, err := p.Sources.methods()
	if err != nil {
		bag.Add(diag.Errorf("Invalid provider installation method", "%s.", err))
		return false
	}
	each(todo, func(w *wanted) { w.ok = w.choose(ctx, methods) })
	each(todo, func(w *wanted) { w.ok = w.ok && at(w) })
	ok := true
	for _, w := range todo {
		if ok || ctx.Err() == nil { // after an interrupt, all providers have the same error
			bag.Add(w.bag.List()...)
		}
		if ok = ok && w.ok; w.ok {
			then(w)
		}
	}
	return ok
}

// each calls f for all elements of todo, for up to atOnce elements concurrently.
func each(todo []*wanted, f func(*wanted)) {
	var all sync.WaitGroup
	slot := make(chan bool, atOnce)
	for _, w := range todo {
		slot <- true
		all.Go(func() {
			defer func() { <-slot }()
			f(w)
		})
	}
	all.Wait()
}

// want returns the provider to install. It returns nil and true if the locked version is installed already, or if want
// has installed it from a cache on this machine. It returns false if it has reported an error. If upgrade is true
// (-upgrade), the locked version has no effect.
func (p *Providers) want(n Need, l *Lockfile, upgrade bool, bag *diag.Bag) (*wanted, bool) {
	w, ok := p.bind(n, l, upgrade, bag)
	if !ok {
		return nil, false
	}
	switch name := w.Provider.ForDisplay(); {
	case w.only:
		p.Progress.note("- Reusing previous version of "+name+" from the dependency lock file", name+": Reusing previous version from the dependency lock file")
		if p.present(w.Provider, w.lock) {
			p.complete(w.lock, l)
			return nil, true
		}
		if len(w.lock.Hashes) > 0 && p.first(p.cached(w.lock), w.lock) {
			name += " v" + w.lock.Version
			p.Progress.note("- Using "+name+" from the shared cache directory", name+": Using from the shared cache directory")
			p.complete(w.lock, l)
			return nil, true
		}
	case w.text != "":
		p.Progress.note(fmt.Sprintf("- Finding %s versions matching %q...", name, w.text), fmt.Sprintf("Finding matching versions for provider: %s, version_constraint: %q", name, w.text))
	default:
		p.Progress.note("- Finding latest version of "+name+"...", name+": Finding latest version...")
	}
	w.platforms = []string{Platform()}
	return w, true
}

// complete adds the hash of an installed package to the lock file in memory, which may contain only the checksum of its
// archive.
func (p *Providers) complete(lock lockfile.Provider, l *Lockfile) {
	hash, err := p.verify(packageDir(p.base(), lock.Provider, lock.Version), lock)
	if err != nil || hash == "" || slices.Contains(lock.Hashes, hash) {
		return
	}
	lock.Hashes = append(slices.Clone(lock.Hashes), hash)
	slices.Sort(lock.Hashes)
	l.Set(lock)
}

// bind returns a provider to install, with the versions that the configuration allows. If the lock file has the
// provider and upgrade is false, only the locked version is allowed. bind reports an error and returns false if the
// constraints are invalid or exclude the locked version.
func (p *Providers) bind(n Need, l *Lockfile, upgrade bool, bag *diag.Bag) (*wanted, bool) {
	allowed, text, ok := allowed(n, bag)
	if !ok {
		return nil, false
	}
	w := &wanted{Need: n, allowed: allowed, text: text}
	w.lock, w.locked = l.Get(n.Provider)
	if w.locked && !n.Host {
		w.Provider = w.lock.Provider // the address under which the provider was locked
	}
	if w.locked && !upgrade {
		v, err := versions.ParseVersion(w.lock.Version)
		if err != nil || !allowed.Has(v) {
			bag.Add(diag.Errorf("Failed to query available provider packages",
				"Could not retrieve the list of available versions for provider %s: locked provider %s %s does not match configured version constraint %s; must use lethe init -upgrade to allow selection of new versions.", n.Provider.ForDisplay(), w.Provider, w.lock.Version, text))
			return nil, false
		}
		w.allowed, w.only = versions.Only(v), true
	}
	return w, true
}

// newest returns the newest version for which fits returns true, and false if no version fits. Of equal versions it
// returns the first.
func newest(all []found, fits func(found) bool) (best found, ok bool) {
	for _, f := range all {
		if fits(f) && (!ok || best.version.LessThan(f.version)) {
			best, ok = f, true
		}
	}
	return best, ok
}

// choose selects the newest allowed version in the sources, and sets w.best and w.lock. If two sources have this
// version, it selects the first source. It reports an error and returns false if no source has an allowed version, or
// if a source cannot be searched.
func (w *wanted) choose(ctx context.Context, methods []method) bool {
	fits := func(f found) bool { return w.unfit(f) == "" && w.allowed.Has(f.version) }
	var all []found
	var asked []string
	for _, m := range methods {
		if !m.takes(w.Provider) {
			continue
		}
		asked = append(asked, m.String())
		list, warnings, err := m.list(ctx, w.Provider)
		if err != nil {
			w.fail("%s could not be searched: %s", m, err)
			return false
		}
		for _, text := range warnings {
			w.bag.Add(diag.Warningf("Additional provider information from registry", "The registry returned warnings for %s:\n  - %s", w.Provider.ForDisplay(), text))
		}
		all = append(all, list...)
		if w.only && slices.ContainsFunc(list, fits) {
			break // only this version is allowed, so later sources cannot have a newer version
		}
	}
	var exists bool
	if w.best, exists = newest(all, fits); !exists {
		w.explain(all, asked)
		return false
	}
	if !w.locked || w.lock.Version != w.best.version.String() {
		w.lock = lockfile.Provider{Constraints: w.text} // for a new version, the lock gets the new constraints; otherwise it keeps its constraints, as in Terraform and OpenTofu
	}
	w.lock.Provider, w.lock.Version = w.Provider, w.best.version.String()
	return true
}

// explain reports why no version can be installed, and lists usable versions.
func (w *wanted) explain(all []found, asked []string) {
	usable := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return w.unfit(f) != "" })
	unfit, is := newest(all, func(f found) bool { return w.unfit(f) != "" && w.allowed.Has(f.version) })
	switch {
	case is:
		w.bag.Add(diag.Errorf("Incompatible provider version", "Provider %s v%s %s. Versions that can be used: %s.", w.Provider.ForDisplay(), unfit.version, w.unfit(unfit), listed(texts(usable))))
	case len(all) > 0:
		w.fail("no available releases match the given constraints %s. Available are: %s", w.text, listed(texts(usable)))
	case len(asked) == 0:
		w.fail("no method in the provider_installation block of the CLI configuration includes it")
	default:
		w.fail("provider %s was not found in any of the search locations.\n\nThese were searched:\n  - %s", w.Provider, strings.Join(asked, "\n  - "))
	}
}

// texts returns the versions as text, in ascending order.
func texts(all []found) (out []string) {
	var vs versions.List
	for _, f := range all {
		vs = append(vs, f.version)
	}
	vs.Sort()
	for _, v := range vs {
		out = append(out, v.String())
	}
	return out
}

// listed returns a text with the last ten of the versions, which are in ascending order, and the number of the others.
// It returns "none" without versions.
func listed(out []string) string {
	out = slices.Compact(out)
	switch n := len(out) - 10; {
	case len(out) == 0:
		return "none"
	case n > 0:
		return fmt.Sprintf("%s, and %d older ones", strings.Join(out[n:], ", "), n)
	}
	return strings.Join(out, ", ")
}

// enter writes an installed provider with its hashes into the lock file in memory. It adds the provider to p.Unverified
// if the lock file had no hash of the provider and no server has signed the hashes.
func (p *Providers) enter(w *wanted, l *Lockfile) {
	if len(w.lock.Hashes) == 0 && !w.done.whole {
		p.Unverified = append(p.Unverified, w.Provider)
	}
	w.lock.Hashes = append(slices.Clone(w.lock.Hashes), w.done.hashes...)
	slices.Sort(w.lock.Hashes)
	w.lock.Hashes = slices.Compact(w.lock.Hashes)
	l.Set(w.lock)
}
