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

// Snapshot is a state at one moment. It is immutable; the zero value is an empty state without a
// lineage. A nil *Snapshot may be read and is empty.
type Snapshot struct {
	Lineage string
	Serial  uint64
	Version string // the program that wrote it ("terraform_version")
	Outputs map[string]Output
	Checks  []Check
	Extra   []byte // JSON object with top-level fields we do not know, kept

	resources map[addr.AbsResource]*Resource
	count     int // objects
	source    []byte
	derived   *derived
}

// derived has values that are computed from a snapshot once. Only finished snapshots have it.
type derived struct {
	once   sync.Once
	sorted []*Resource
	hosts  hosts
	digest sync.Once
	sum    Digest
}

// hosts counts the use of the two registry hosts.
type hosts struct {
	once   sync.Once
	byType map[addr.Provider]hostCounts // by canonical address
	total  hostCounts
}

// hostCounts are the numbers of resources under OpenTofu's and Terraform's host.
type hostCounts struct{ tofu, terraform int }

// Digest is the SHA-256 of a state file; zero if the file is missing.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a file's bytes, zero for no bytes.
func DigestOf(data []byte) Digest {
	if len(data) == 0 {
		return Digest{}
	}
	return sha256.Sum256(data)
}

// MarshalText returns hexadecimal digits, "" for the zero value.
func (d Digest) MarshalText() ([]byte, error) {
	if d == (Digest{}) {
		return nil, nil
	}
	return hex.AppendEncode(nil, d[:]), nil
}

// UnmarshalText reads the result of MarshalText.
func (d *Digest) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err == nil && len(raw) != 0 && len(raw) != len(d) {
		err = fmt.Errorf("a digest has %d bytes", len(raw))
	}
	*d = Digest{}
	copy(d[:], raw)
	return err
}

// Source returns the text that the snapshot was read from; nil if it was not read from a text, or was changed since.
func (s *Snapshot) Source() []byte {
	if s == nil {
		return nil
	}
	return s.source
}

// SameText reports whether two snapshots were read from the same text.
func (s *Snapshot) SameText(o *Snapshot) bool {
	return s != nil && o != nil && s.source != nil && bytes.Equal(s.source, o.source)
}

// Digest is the digest of the bytes the snapshot was read from, zero if it was not read.
func (s *Snapshot) Digest() Digest {
	if s == nil || s.source == nil {
		return Digest{}
	}
	s.derived.digest.Do(func() { s.derived.sum = DigestOf(s.source) })
	return s.derived.sum
}

// Resource is the set of a resource's objects in one module instance. It is never empty.
type Resource struct {
	Addr     addr.AbsResource
	Provider addr.ProviderConfig // as stored with the resource
	Extra    []byte              // JSON object with fields we do not know, kept

	// Most resources have one object, and a map is large: slot and entry have a single object, and entries has all
	// objects from the second on.
	slot    slot
	entry   *Entry
	entries map[slot]*Entry
}

// slot tells the objects of one resource apart.
type slot struct {
	key     addr.Key
	deposed string
}

// compare is the order of objects: each current one before its deposed ones.
func (a slot) compare(b slot) int {
	return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.deposed, b.deposed))
}

// Get returns an object, nil if it does not exist.
func (s *Snapshot) Get(o addr.Object) *Entry {
	return s.Resource(o.Abs()).at(slot{o.Key, o.Deposed})
}

// Resource returns a resource with its objects, nil if it has no object.
func (s *Snapshot) Resource(a addr.AbsResource) *Resource {
	if s == nil {
		return nil
	}
	return s.resources[a]
}

// Len is the number of objects.
func (s *Snapshot) Len() int {
	if s == nil {
		return 0
	}
	return s.count
}

// all returns the resources in no order.
func (s *Snapshot) all() map[addr.AbsResource]*Resource {
	if s == nil {
		return nil
	}
	return s.resources
}

// Resources returns all resources, sorted. The slice is shared: it must not be changed.
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

// Objects returns all objects in order.
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

// Get returns the current object with that key, nil if it does not exist.
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

// Len is the number of objects, deposed ones included.
func (r *Resource) Len() int {
	switch {
	case r == nil || r.entries == nil && r.entry == nil:
		return 0
	case r.entries == nil:
		return 1
	}
	return len(r.entries)
}

// each yields the objects in no order.
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

// ordered appends the objects' slots in order to an empty list.
func (r *Resource) ordered(slots []slot, compare func(a, b slot) int) []slot {
	slots = slices.Grow(slots, r.Len())
	for s := range r.each {
		slots = append(slots, s)
	}
	slices.SortFunc(slots, compare)
	return slots
}

// Objects returns the resource's objects by key, each current object before its deposed ones.
func (r *Resource) Objects() iter.Seq2[addr.Object, *Entry] {
	return func(yield func(addr.Object, *Entry) bool) {
		for _, s := range r.ordered(nil, slot.compare) {
			if !yield(addr.Object{Instance: r.Addr.Instance(s.key), Deposed: s.deposed}, r.at(s)) {
				return
			}
		}
	}
}

// Keys returns the keys of the current objects, sorted.
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

// set stores an object, nil removes it. Only for a resource that is not shared yet.
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

// The registries of Terraform and OpenTofu name the same providers. Objects keep the host they
// were stored with; a new object takes the host that its state already uses, so that the product
// which wrote the state finds its own addresses in it again.

func (v hostCounts) winner() string {
	switch {
	case v.terraform > v.tofu:
		return addr.TerraformHost
	case v.tofu > 0:
		return addr.DefaultHost
	}
	return ""
}

// HostFor returns p with the registry host that most of its resources in the snapshot have. If none of its resources is
// in the snapshot, it returns the host that most resources of other providers have. It returns false if no resource has
// the host of Terraform's or OpenTofu's registry, or if p is from another host. Use it only for configurations that
// name no host.
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
	if s.derived == nil { // unfinished: nothing may be kept
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
