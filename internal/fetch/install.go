package fetch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// atOnce is how many providers are asked for, or downloaded, at a time.
const atOnce = 32

// Install makes sure that every needed provider is there in a version that fits, and writes the
// choice into the lock file (in memory). With upgrade, locked versions do not bind.
func (p *Providers) Install(ctx context.Context, needs []Need, l *Lockfile, upgrade bool, bag *diag.Bag) bool {
	ok := true
	var todo []*wanted
	for _, n := range needs {
		if _, over := p.override(n.Provider); over || n.Provider.IsBuiltin() {
			continue
		}
		w, good := p.want(n, l, upgrade, bag)
		if ok = ok && good; w != nil {
			todo = append(todo, w)
		}
	}
	return p.settle(ctx, todo, bag, func(w *wanted) bool { return p.fetch(ctx, w) }, func(w *wanted) { p.enter(w, l) }) && ok
}

// settle chooses a version of each provider, and does something for it, of several at the same time; then
// something in their order.
func (p *Providers) settle(ctx context.Context, todo []*wanted, bag *diag.Bag, at func(*wanted) bool, then func(*wanted)) bool {
	if len(todo) == 0 {
		return true
	}
	methods, err := p.methods()
	if err != nil {
		bag.Add(diag.Errorf("Invalid provider installation method", "%s.", err))
		return false
	}
	each(todo, func(w *wanted) { w.ok = p.choose(ctx, w, methods) })
	each(todo, func(w *wanted) { w.ok = w.ok && at(w) })
	ok := true
	for _, w := range todo {
		if ok || ctx.Err() == nil { // an interrupt, all of them would tell of
			bag.Add(w.bag.List()...)
		}
		if ok = ok && w.ok; w.ok {
			then(w)
		}
	}
	return ok
}

// each calls f for all, some at a time.
func each(todo []*wanted, f func(*wanted)) {
	var all sync.WaitGroup
	room := make(chan bool, atOnce)
	for _, w := range todo {
		room <- true
		all.Go(func() {
			defer func() { <-room }()
			f(w)
		})
	}
	all.Wait()
}

// want finds out what is to be installed of a provider; nil where it is there.
func (p *Providers) want(n Need, l *Lockfile, upgrade bool, bag *diag.Bag) (*wanted, bool) {
	w, ok := p.bind(n, l, upgrade, bag)
	if !ok {
		return nil, false
	}
	switch name := w.Provider.ForDisplay(); {
	case w.only:
		p.say("- Reusing previous version of "+name+" from the dependency lock file", name+": Reusing previous version from the dependency lock file")
		if p.present(w.Provider, w.lock) {
			p.complete(w.lock, l)
			return nil, true
		}
		if len(w.lock.Hashes) > 0 && p.first(p.cached(w.lock), w.lock) {
			name += " v" + w.lock.Version
			p.say("- Using "+name+" from the shared cache directory", name+": Using from the shared cache directory")
			p.complete(w.lock, l)
			return nil, true
		}
	case w.text != "":
		p.say(fmt.Sprintf("- Finding %s versions matching %q...", name, w.text), fmt.Sprintf("Finding matching versions for provider: %s, version_constraint: %q", name, w.text))
	default:
		p.say("- Finding latest version of "+name+"...", name+": Finding latest version...")
	}
	w.platforms = []string{Platform()}
	return w, true
}

// complete enters the hash of an installed package into the lock file (in memory), which may have only the checksum of
// its archive.
func (p *Providers) complete(lock config.Lock, l *Lockfile) {
	hash, err := p.verify(packageDir(p.base(), lock.Provider, lock.Version), lock)
	if err != nil || hash == "" || slices.Contains(lock.Hashes, hash) {
		return
	}
	lock.Hashes = append(slices.Clone(lock.Hashes), hash)
	slices.Sort(lock.Hashes)
	l.Set(lock)
}

// bind finds out which versions of a provider the configuration and, but for an upgrade, the lock file allow.
func (p *Providers) bind(n Need, l *Lockfile, upgrade bool, bag *diag.Bag) (*wanted, bool) {
	allowed, text, ok := p.allowed(n, bag)
	if !ok {
		return nil, false
	}
	w := &wanted{Need: n, allowed: allowed, text: text}
	w.lock, w.locked = l.Get(n.Provider)
	if w.locked && !n.Host {
		w.Provider = w.lock.Provider // the host under which it was locked
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

// newest is the newest of those that fit; of equals the first.
func newest(all []found, fits func(found) bool) (best found, ok bool) {
	for _, f := range all {
		if fits(f) && (!ok || best.version.LessThan(f.version)) {
			best, ok = f, true
		}
	}
	return best, ok
}

// choose takes the newest allowed version that some source has; of two sources that of the first.
func (p *Providers) choose(ctx context.Context, w *wanted, methods []method) bool {
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
			break // no other can have a newer one
		}
	}
	var there bool
	if w.best, there = newest(all, fits); !there {
		w.explain(all, asked)
		return false
	}
	if !w.locked || w.lock.Version != w.best.version.String() {
		w.lock = config.Lock{Constraints: w.text} // those of a version that stays are left as they are, as Terraform and OpenTofu do
	}
	w.lock.Provider, w.lock.Version = w.Provider, w.best.version.String()
	return true
}

// explain says why there is no version to install, and which are nearest.
func (w *wanted) explain(all []found, asked []string) {
	usable := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return w.unfit(f) != "" })
	unfit, is := newest(all, func(f found) bool { return w.unfit(f) != "" && w.allowed.Has(f.version) })
	switch {
	case is:
		w.bag.Add(diag.Errorf("Incompatible provider version", "Provider %s v%s %s. Versions that can be used: %s.", w.Provider.ForDisplay(), unfit.version, w.unfit(unfit), listed(usable)))
	case len(all) > 0:
		w.fail("no available releases match the given constraints %s. Available are: %s", w.text, listed(usable))
	case len(asked) == 0:
		w.fail("the provider_installation block of the CLI configuration has no method that includes it")
	default:
		w.fail("provider %s was not found in any of the search locations.\n\nThese were searched:\n  - %s", w.Provider, strings.Join(asked, "\n  - "))
	}
}

// listed are the newest of some versions.
func listed(all []found) string {
	var vs versions.List
	for _, f := range all {
		vs = append(vs, f.version)
	}
	vs.Sort()
	var out []string
	for _, v := range vs {
		out = append(out, v.String())
	}
	out = slices.Compact(out)
	switch n := len(out) - 10; {
	case len(out) == 0:
		return "none"
	case n > 0:
		return fmt.Sprintf("%s, and %d older ones", strings.Join(out[n:], ", "), n)
	}
	return strings.Join(out, ", ")
}

// enter writes what was installed into the lock file.
func (p *Providers) enter(w *wanted, l *Lockfile) {
	if len(w.lock.Hashes) == 0 && !w.done.whole {
		p.Unheld = append(p.Unheld, w.Provider)
	}
	w.lock.Hashes = append(slices.Clone(w.lock.Hashes), w.done.hashes...)
	slices.Sort(w.lock.Hashes)
	w.lock.Hashes = slices.Compact(w.lock.Hashes)
	l.Set(w.lock)
}
