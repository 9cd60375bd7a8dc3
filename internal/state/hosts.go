package state

import "github.com/lethe-iac/lethe/internal/addr"

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

// HostFor gives p with the registry host that the snapshot uses for it, or failing that for its
// other providers; false if it uses none, or p is from elsewhere. It is for configurations that
// name no host: one that does means what it says.
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
