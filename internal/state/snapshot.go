package state

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
)

// Snapshot is a state that does not change. The zero value is an empty state without a lineage. All reading methods
// also work for a nil *Snapshot, which counts as empty.
type Snapshot struct {
	Lineage string
	Serial  uint64
	Version string // the version of the program that wrote the state ("terraform_version")
	Outputs map[string]Output
	Checks  []Check
	Extra   []byte // a JSON object with the unknown top-level fields, which are kept

	resources map[addr.AbsResource]*Resource
	count     int // the number of objects
	source    []byte
	derived   *derived
}

// derived has values that are computed from a snapshot at their first use. Only a finished snapshot, which no longer
// changes, has a derived.
type derived struct {
	once   sync.Once
	sorted []*Resource
	hosts  hosts
	digest sync.Once
	sum    Digest
}

// hosts counts the resources whose provider addresses have the registry host of OpenTofu or of Terraform.
type hosts struct {
	once   sync.Once
	byType map[addr.Provider]hostCounts // the counts for each provider, by its canonical address (the same for both hosts)
	total  hostCounts
}

// hostCounts are the numbers of resources under OpenTofu's host and under Terraform's host.
type hostCounts struct{ tofu, terraform int }

// Digest is the SHA-256 of the text of a state file. It is zero if the file is missing.
type Digest [sha256.Size]byte

// DigestOf returns the SHA-256 of the bytes of a file. For no bytes it returns zero.
func DigestOf(data []byte) Digest {
	if len(data) == 0 {
		return Digest{}
	}
	return sha256.Sum256(data)
}

// MarshalText returns the digest in hexadecimal digits, or "" for zero.
func (d Digest) MarshalText() ([]byte, error) {
	if d == (Digest{}) {
		return nil, nil
	}
	return hex.AppendEncode(nil, d[:]), nil
}

// UnmarshalText decodes the result of MarshalText. Any other text is an error.
func (d *Digest) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err == nil && len(raw) != 0 && len(raw) != len(d) {
		err = fmt.Errorf("a digest has %d bytes", len(raw))
	}
	*d = Digest{}
	copy(d[:], raw)
	return err
}

// Source returns the text from which the snapshot was read. It returns nil if the snapshot was not read from a text, or
// is an edited copy.
func (s *Snapshot) Source() []byte {
	if s == nil {
		return nil
	}
	return s.source
}

// SameText reports whether two snapshots were read from the same text. It returns false if one of them is nil or was
// not read from a text.
func (s *Snapshot) SameText(o *Snapshot) bool {
	return s != nil && o != nil && s.source != nil && bytes.Equal(s.source, o.source)
}

// Digest returns the digest of the text from which the snapshot was read. It returns zero if Source returns nil.
func (s *Snapshot) Digest() Digest {
	if s == nil || s.source == nil {
		return Digest{}
	}
	s.derived.digest.Do(func() { s.derived.sum = DigestOf(s.source) })
	return s.derived.sum
}

// Resource has the objects of a resource in one module instance, of which there is at least one.
type Resource struct {
	Addr     addr.AbsResource
	Provider addr.ProviderConfig // the provider configuration in the field "provider" of the resource
	Extra    []byte              // a JSON object with the unknown fields of the resource, which are kept

	// Most resources have one object, and a map is large. So slot and entry hold a single object. From the second object
	// on, entries has all objects.
	slot    slot
	entry   *Entry
	entries map[slot]*Entry
}

// slot identifies an object of a resource: by its instance key, and by its deposed key, which is "" for the current
// object.
type slot struct {
	key     addr.Key
	deposed string
}

// compare orders the objects of a resource by instance key, with a current object before its deposed objects.
func (a slot) compare(b slot) int {
	return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.deposed, b.deposed))
}

// Get returns the entry of an object, or nil if the object does not exist.
func (s *Snapshot) Get(o addr.Object) *Entry {
	return s.Resource(o.Abs()).at(slot{o.Key, o.Deposed})
}

// Resource returns the resource with an address, or nil if it has no objects.
func (s *Snapshot) Resource(a addr.AbsResource) *Resource {
	if s == nil {
		return nil
	}
	return s.resources[a]
}

// Len returns the number of objects.
func (s *Snapshot) Len() int {
	if s == nil {
		return 0
	}
	return s.count
}

// all returns the resources by address.
func (s *Snapshot) all() map[addr.AbsResource]*Resource {
	if s == nil {
		return nil
	}
	return s.resources
}

// Resources returns all resources, sorted by address. The slice is shared and must not be changed.
func (s *Snapshot) Resources() []*Resource {
	if s == nil {
		return nil
	}
	if s.derived == nil {
		return sortResources(s.resources)
	}
	s.derived.once.Do(func() { s.derived.sorted = sortResources(s.resources) })
	return s.derived.sorted
}

func sortResources(m map[addr.AbsResource]*Resource) []*Resource {
	out := make([]*Resource, 0, len(m))
	for _, r := range m {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Resource) int { return a.Addr.Compare(b.Addr) })
	return out
}

// Objects returns all objects, sorted by address.
func (s *Snapshot) Objects() iter.Seq2[addr.Object, *Entry] {
	return func(yield func(addr.Object, *Entry) bool) {
		for _, r := range s.Resources() {
			for o, e := range r.Objects() {
				if !yield(o, e) {
					return
				}
			}
		}
	}
}

// Get returns the current object with the instance key k, or nil if it does not exist.
func (r *Resource) Get(k addr.Key) *Entry { return r.at(slot{key: k}) }

func (r *Resource) at(s slot) *Entry {
	switch {
	case r == nil:
		return nil
	case r.entries != nil:
		return r.entries[s]
	case r.slot == s:
		return r.entry
	}
	return nil
}

// Len returns the number of objects, including deposed objects.
func (r *Resource) Len() int {
	switch {
	case r == nil || r.entries == nil && r.entry == nil:
		return 0
	case r.entries == nil:
		return 1
	}
	return len(r.entries)
}

// each yields the objects of the resource in no particular order.
func (r *Resource) each(yield func(slot, *Entry) bool) {
	if r == nil || r.entry != nil && !yield(r.slot, r.entry) {
		return
	}
	for s, e := range r.entries {
		if !yield(s, e) {
			return
		}
	}
}

// ordered appends the slots of all objects of the resource to slots, which must be empty, and sorts them with compare.
func (r *Resource) ordered(slots []slot, compare func(a, b slot) int) []slot {
	slots = slices.Grow(slots, r.Len())
	for s := range r.each {
		slots = append(slots, s)
	}
	slices.SortFunc(slots, compare)
	return slots
}

// Objects returns the resource's objects, sorted by instance key, each current object before its deposed objects.
func (r *Resource) Objects() iter.Seq2[addr.Object, *Entry] {
	return func(yield func(addr.Object, *Entry) bool) {
		for _, s := range r.ordered(nil, slot.compare) {
			if !yield(addr.Object{Instance: r.Addr.Instance(s.key), Deposed: s.deposed}, r.at(s)) {
				return
			}
		}
	}
}

// Keys returns the sorted instance keys of the current objects.
func (r *Resource) Keys() []addr.Key {
	var keys []addr.Key
	for s := range r.each {
		if s.deposed == "" {
			keys = append(keys, s.key)
		}
	}
	slices.SortFunc(keys, addr.Key.Compare)
	return keys
}

// set stores an object, or removes it if e is nil. The resource must not belong to a finished snapshot.
func (r *Resource) set(s slot, e *Entry) {
	switch {
	case r.entries == nil && (r.entry == nil || r.slot == s):
		r.slot, r.entry = s, e
	case r.entries == nil && e != nil:
		r.entries = map[slot]*Entry{r.slot: r.entry, s: e}
		r.slot, r.entry = slot{}, nil
	case e != nil:
		r.entries[s] = e
	default:
		delete(r.entries, s)
	}
}

func (r *Resource) copy(a addr.AbsResource) *Resource {
	if r == nil {
		return &Resource{Addr: a}
	}
	c := *r
	c.entries = maps.Clone(r.entries)
	return &c
}

// winner returns the registry host that more resources have: OpenTofu's host if both have as many, and "" if neither
// host has any. The registries of Terraform and OpenTofu name the same providers. An object keeps the host with which
// it was stored. A new object gets the host that its state already uses, so that the program that wrote the state finds
// its own addresses in it.
func (v hostCounts) winner() string {
	switch {
	case v.terraform > v.tofu:
		return addr.TerraformHost
	case v.tofu > 0:
		return addr.DefaultHost
	}
	return ""
}

// HostFor returns p with a registry host of Terraform or OpenTofu: the host that most resources of p in the snapshot
// have, or else the host that most other resources have. It returns p and false if the snapshot uses neither host, or
// if p has another host. Use HostFor only for providers whose configuration names no host.
func (s *Snapshot) HostFor(p addr.Provider) (addr.Provider, bool) {
	if _, ok := p.Counterpart(); !ok || s == nil {
		return p, false
	}
	h := s.countHosts()
	host := h.byType[p.Canon()].winner()
	if host == "" {
		host = h.total.winner()
	}
	if host == "" {
		return p, false
	}
	p.Host = host
	return p, true
}

func (s *Snapshot) countHosts() *hosts {
	if s.derived == nil { // an unfinished snapshot may still change, so cache nothing
		h := &hosts{}
		h.count(s.resources)
		return h
	}
	h := &s.derived.hosts
	h.once.Do(func() { h.count(s.resources) })
	return h
}

func (h *hosts) count(resources map[addr.AbsResource]*Resource) {
	h.byType = map[addr.Provider]hostCounts{}
	for _, r := range resources {
		p := r.Provider.Provider
		v := h.byType[p.Canon()]
		switch p.Host {
		case addr.DefaultHost:
			v.tofu++
			h.total.tofu++
		case addr.TerraformHost:
			v.terraform++
			h.total.terraform++
		default:
			continue
		}
		h.byType[p.Canon()] = v
	}
}
