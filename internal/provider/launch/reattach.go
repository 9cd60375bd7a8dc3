package launch

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
)

// ParseReattach parses the value of TF_REATTACH_PROVIDERS. The keys of the result are results of addr.Provider.Canon,
// so an entry for one registry also serves the other. An entry with the legacy namespace "-", which test programs write
// in addition, counts only if no other entry has the same key. The result for "" is nil.
func ParseReattach(text string) (map[addr.Provider]Reattach, error) {
	if text == "" {
		return nil, nil
	}
	var entries map[string]struct {
		Protocol        string
		ProtocolVersion int
		Test            bool
		Addr            struct{ Network, String string }
	}
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("TF_REATTACH_PROVIDERS is invalid. Set it to the line that a provider prints in debug mode: %w", jsontext.Plain(err))
	}
	out := map[addr.Provider]Reattach{}
	legacy := map[addr.Provider]Reattach{}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		e := entries[key]
		p, err := addr.ParseProvider(key)
		if err != nil {
			return nil, fmt.Errorf("TF_REATTACH_PROVIDERS has a key that is not the address of a provider: %w", err)
		}
		r, err := reattach(e.Protocol, e.ProtocolVersion, e.Addr.Network, e.Addr.String)
		if err != nil {
			return nil, fmt.Errorf("TF_REATTACH_PROVIDERS, provider %s: %w", key, err)
		}
		r.Named, r.Test = p, e.Test
		if p.Namespace == addr.LegacyNamespace {
			legacy[p.Canon()] = r
		} else {
			out[p.Canon()] = r
		}
	}
	for p, r := range legacy {
		if _, ok := out[p]; !ok {
			out[p] = r
		}
	}
	return out, nil
}

func reattach(protocol string, major int, network, address string) (Reattach, error) {
	if protocol != "grpc" {
		return Reattach{}, fmt.Errorf("the protocol %q is not supported, only grpc", protocol)
	}
	switch major {
	case 0:
		major = 5 // the major version of SDKs that do not name their version
	case 5, 6:
	default:
		return Reattach{}, fmt.Errorf("version %d of the provider protocol is not supported, only 5 and 6", major)
	}
	var a net.Addr
	var err error
	switch network {
	case "unix":
		a, err = net.ResolveUnixAddr(network, address)
	case "tcp":
		a, err = net.ResolveTCPAddr(network, address)
	default:
		err = fmt.Errorf("addresses of the network %q are not supported, only unix and tcp", network)
	}
	return Reattach{Major: major, Addr: a}, err
}
