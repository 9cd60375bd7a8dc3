package audit

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// examination has the data of one call of Auditor.Report: the facts about the types, and the findings so far.
type examination struct {
	*Auditor
	types  map[typeKey]*typeFacts
	found  map[findingKey]*Finding
	own    map[int32][]string // by index of a unit: the paths of the secrets in the unit
	gaps   map[gapKey]map[string]bool
	set    secret.Set
	short  int                  // number of values that are too short or too common, so that the second pass does not search for them
	packed []string             // the names of units that were not searched completely
	advice map[adviceKey]string // the write-only arguments that providers recommend, by the attribute that they replace
	asked  map[adviceKey]bool   // the attributes for which the provider was asked
}

type typeKey struct {
	provider addr.Provider
	mode     addr.Mode
	name     string
}

// typeFacts are the facts about a resource type for an examination.
type typeFacts struct {
	schema    *schema.Schema // nil if it is not available
	sensitive bool           // the schema has a sensitive attribute
	ephemeral bool           // the provider has an ephemeral resource of the same name
}

type findingKey struct {
	address, path string
	reason        Reason
}

type gapKey struct {
	provider addr.Provider
	kind     GapKind
	problem  string
}

// facts returns the facts about the type of an object. If the schema is not available, facts records a gap in the
// examination, and the result has no schema. The result is never nil.
func (x *examination) facts(p addr.Provider, o addr.Object) *typeFacts {
	key := typeKey{p, o.Mode, o.Type}
	if f, ok := x.types[key]; ok {
		return f
	}
	f := &typeFacts{}
	x.types[key] = f
	schemas, err := x.in.Schemas(p)
	if err == nil {
		f.schema, err = schemas.Type(o.Mode, o.Type)
	}
	switch {
	case err != nil:
		x.gap(p, o, NoSchema, strings.TrimSuffix(err.Error(), ".")+".")
		return f
	case f.schema == nil:
		x.gap(p, o, NoSchema, "The provider has no such type.")
		return f
	}
	f.sensitive = f.schema.HasSensitive()
	if o.Mode == addr.Data {
		e, _ := schemas.Type(addr.Ephemeral, o.Type) // ignore the error: an ephemeral resource with an invalid schema is no remedy
		f.ephemeral = e != nil
	}
	return f
}

func (x *examination) gap(p addr.Provider, o addr.Object, kind GapKind, problem string) {
	key := gapKey{p, kind, problem}
	if x.gaps[key] == nil {
		x.gaps[key] = map[string]bool{}
	}
	x.gaps[key][o.Type] = true
}

// collect is the first pass: it finds the values that count as secrets.
func (x *examination) collect() {
	for i, u := range x.units {
		switch {
		case u.entry != nil:
			x.collectEntry(int32(i), u)
		case u.what != "":
			x.secret(int32(i), u, "", u.what, u.value.Raw)
		default:
			f := &typeFacts{}
			if u.object != (addr.Object{}) {
				f = x.facts(u.from, u.object)
			}
			x.collectValue(int32(i), u, f, u.value.Raw, u.value.PathsOf(mark.Sensitive))
		}
	}
}

// collectEntry finds the secrets of an object in a state. If the object does not have the types of its schema, it
// records a gap, and finds only the secrets that the state marks.
func (x *examination) collectEntry(i int32, u *unit) {
	f := x.facts(u.entry.Provider.Provider, u.object)
	if !f.sensitive && len(u.entry.Sensitive) == 0 {
		return
	}
	if u.entry.Flatmap != nil {
		x.collectFlatmap(i, u, f)
		return
	}
	v, typed := x.decode(u, f)
	if !typed && f.schema != nil {
		x.gap(u.entry.Provider.Provider, u.object, OtherSchema, "Some objects have the form of another version of the provider.")
		f = &typeFacts{ephemeral: f.ephemeral}
	}
	x.collectValue(i, u, f, v, u.entry.Sensitive)
}

// decode returns the attributes of an object, and whether they have the types of its schema. Otherwise they have the
// types of their JSON text. If the text is not valid, v is NilVal.
func (x *examination) decode(u *unit, f *typeFacts) (v cty.Value, typed bool) {
	if f.schema != nil {
		if v, err := f.schema.DecodeJSON(u.entry.Attrs); err == nil {
			return v, true
		}
	}
	v, _ = untyped(u.entry.Attrs)
	return v, false
}

// collectFlatmap finds the secrets of an object of a very old state, whose attributes are a map of texts by dotted
// name. Without a schema it finds none.
func (x *examination) collectFlatmap(i int32, u *unit, f *typeFacts) {
	if f.schema == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(u.entry.Flatmap)) {
		if path, ok := flatPath(name); ok && f.schema.IsSensitive(path) {
			x.secret(i, u, name, x.reason(u, Schema), cty.StringVal(u.entry.Flatmap[name]))
		}
	}
}

// flatPath returns the path of an attribute by its dotted name, without indexes, such as login.0.key. It returns false
// for the name of a length, such as login.#.
func flatPath(name string) (path cty.Path, ok bool) {
	for step := range strings.SplitSeq(name, ".") {
		if step == "#" || step == "%" {
			return nil, false
		}
		if _, err := strconv.ParseUint(step, 10, 64); err != nil {
			path = path.GetAttr(step)
		}
	}
	return path, true
}

// collectValue finds the secrets in the value of an object: attributes that are sensitive in its schema, and attributes
// at recorded paths.
func (x *examination) collectValue(i int32, u *unit, f *typeFacts, v cty.Value, recorded []cty.Path) {
	if f.sensitive {
		f.schema.EachSensitive(v, func(path cty.Path, secret cty.Value) {
			x.secret(i, u, mark.PathString(path), x.reason(u, Schema), secret)
		})
	}
	for _, path := range recorded {
		why := Recorded
		if f.schema != nil {
			if f.schema.IsSensitive(path) {
				continue
			}
			why = Configuration
		}
		if secret, ok := at(v, path); ok {
			x.secret(i, u, mark.PathString(path), x.reason(u, why), secret)
		}
	}
}

// reason returns the reason for an attribute of an object: Data for a data source, and the given reason otherwise.
func (x *examination) reason(u *unit, why Reason) Reason {
	if u.object.Mode == addr.Data {
		return Data
	}
	return why
}

// secret records the strings, numbers and booleans in v as a secret of unit i. It ignores a value that contains only
// empty strings, or none of these.
func (x *examination) secret(i int32, u *unit, path string, why Reason, v cty.Value) {
	var texts []string
	leaves("", v, func(_, text string) {
		if text != "" {
			texts = append(texts, text)
		}
	})
	if len(texts) == 0 {
		return // the value contains no text
	}
	x.own[i] = append(x.own[i], path)
	x.finding(u, path, why, texts)
}

// finding records the values of a finding in the places of a unit.
func (x *examination) finding(u *unit, path string, why Reason, texts []string) {
	key := findingKey{u.name, path, why}
	f := x.found[key]
	if f == nil {
		f = &Finding{Address: u.name, Path: path, Reason: why, object: u.object, at: [2]string{u.name, path}, known: map[string]bool{}, in: map[*Place]map[string]bool{}}
		x.found[key] = f
	}
	for _, text := range texts {
		if !f.known[text] {
			f.known[text] = true
			f.values = append(f.values, text)
		}
	}
	for _, n := range u.in {
		p := x.places[n]
		if f.in[p] == nil {
			f.in[p] = map[string]bool{}
		}
		for _, text := range texts {
			f.in[p][text] = true
		}
	}
	if f.unit == nil {
		f.unit = u
	}
	f.flat = f.flat || u.entry != nil && u.entry.Flatmap != nil
}

// register prepares the search for all values that are not too common.
func (x *examination) register() {
	short := map[string]bool{}
	for _, f := range x.found {
		for _, text := range f.values {
			if common(text) {
				short[text] = true
				continue
			}
			x.set.Add(text, secret.Origin{Kind: secret.WriteOnly, Sensitive: true})
		}
	}
	x.short = len(short)
}

// batch is the number of units to search between two reports of progress.
const batch = 512

// search is the second pass: it finds the collected values inside other values. It first searches all units
// concurrently for any value, and reports the progress. If ctx ends before this is done, it returns the error of ctx.
func (x *examination) search(ctx context.Context) error {
	if x.set.Empty() {
		return ctx.Err()
	}
	hits := make([]bool, len(x.units))
	var next, done atomic.Int64
	var wait sync.WaitGroup
	var report sync.Mutex
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(batch)) - batch
				if from >= len(x.units) {
					return
				}
				to := min(from+batch, len(x.units))
				for i := from; i < to; i++ {
					hits[i] = x.mayHold(x.units[i])
				}
				if x.in.Progress != nil {
					report.Lock()
					x.in.Progress(int(done.Add(int64(to-from))), len(x.units))
					report.Unlock()
				}
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i, hit := range hits {
		if hit {
			x.searchUnit(int32(i), x.units[i])
		}
	}
	return nil
}

// mayHold reports whether a unit may contain a secret, without decoding it. It returns true for a unit that is not an
// object of a state.
func (x *examination) mayHold(u *unit) bool {
	if u.entry == nil {
		return true
	}
	e := u.entry
	return x.set.MayRefuse(e.Attrs) || x.set.MayRefuse(e.Private) || x.set.MayRefuse(e.Identity) || x.set.MayRefuse(e.Extra) || e.Flatmap != nil
}

// searchUnit finds the secrets inside the values of a unit.
func (x *examination) searchUnit(i int32, u *unit) {
	own, held := x.own[i], map[string]bool{}
	visit := func(path, text string) {
		found := x.within(u, text)
		for _, s := range found {
			held[s] = true
		}
		if len(found) > 0 && !inside(path, own) {
			x.finding(u, path, Contained, found)
		}
	}
	key := func(key string) {
		found := x.within(u, key)
		x.outside(u, "", Contained, found)
		for _, s := range found {
			held[s] = true
		}
	}
	if u.entry == nil {
		leaves("", u.value.Raw, visit)
		if u.what == "" {
			keysIn(u.value.Raw, u.object == (addr.Object{}), key)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(u.entry.Flatmap)) {
		visit(name, u.entry.Flatmap[name])
	}
	v, _ := x.decode(u, x.facts(u.entry.Provider.Provider, u.object))
	leaves("", v, visit)
	keysIn(v, false, key)
	x.outside(u, "", Contained, x.rest(x.within(u, string(u.entry.Attrs)), held)) // finds, for example, an attribute that the schema lacks
	x.outside(u, "(private data)", Private, x.within(u, string(u.entry.Private)))
	x.outside(u, "(identity)", Contained, x.within(u, string(u.entry.Identity)))
	x.outside(u, "(unknown fields)", Contained, x.within(u, string(u.entry.Extra)))
}

// outside records secrets in a part of an object that is not an attribute.
func (x *examination) outside(u *unit, path string, why Reason, texts []string) {
	if len(texts) > 0 {
		x.finding(u, path, why, texts)
	}
}

// rest returns the texts that are not in held.
func (x *examination) rest(texts []string, held map[string]bool) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return held[s] })
}

// within returns the secrets in a text, each once. If the text is too large to be searched completely, the name of the
// unit is recorded in x.packed.
func (x *examination) within(u *unit, text string) []string {
	var out []string
	clear := x.set.Within(text, func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	})
	if !clear && !slices.Contains(x.packed, u.name) {
		x.packed = append(x.packed, u.name)
	}
	return out
}

// adviceKey identifies an attribute of a resource type by the names in its path.
type adviceKey struct {
	provider   addr.Provider
	typ, names string
}
