package funcs

import (
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"

	"github.com/apparentlymart/go-cidr/cidr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

const prefixDoc = "The network in CIDR notation, such as 10.0.0.0/8."

var networks = []*builtin{
	fixed("cidrcontains", "Reports whether a network contains an address or another network. Both must be IPv4, or both IPv6.", cty.Bool, cidrContains,
		text("containing_prefix", prefixDoc),
		text("contained_ip_or_prefix", "The address or network to find.")),
	fixed("cidrhost", "Returns the address of a host in a network.", cty.String, cidrHost,
		text("prefix", prefixDoc),
		number("hostnum", "The number of the host. A negative number counts from the end.")),
	fixed("cidrnetmask", "Returns the netmask of an IPv4 network.", cty.String, cidrNetmask,
		text("prefix", prefixDoc)),
	fixed("cidrsubnet", "Returns a subnet of a network.", cty.String, cidrSubnet,
		text("prefix", prefixDoc),
		number("newbits", "The number of bits to add to the prefix."),
		number("netnum", "The number of the subnet.")),
	{
		name: "cidrsubnets", doc: "Divides a network into consecutive subnets.",
		params:  []param{{name: "prefix", typ: cty.String, doc: prefixDoc}},
		rest:    &param{name: "newbits", typ: cty.Number, doc: "The number of bits to add to the prefix of each subnet, in order."},
		returns: cty.List(cty.String), run: cidrSubnets,
	},
}

// decimal returns an IPv4 address or network without leading zeros in the octets. Package net refuses leading zeros,
// because some programs read such a number as octal. In configurations the number is decimal. decimal returns any other
// text unchanged.
func decimal(text string) string {
	addr, bits, prefixed := strings.Cut(text, "/")
	v6, v4 := "", addr
	if i := strings.LastIndexByte(addr, ':'); i >= 0 {
		v6, v4 = addr[:i+1], addr[i+1:]
	}
	octets := strings.Split(v4, ".")
	if len(octets) != 4 {
		return text
	}
	for i, o := range octets {
		if trimmed := strings.TrimLeft(o, "0"); trimmed != "" {
			octets[i] = trimmed
		} else if o != "" {
			octets[i] = "0"
		}
	}
	addr = v6 + strings.Join(octets, ".")
	if prefixed {
		return addr + "/" + bits
	}
	return addr
}

// prefix returns the network that argument i describes in CIDR notation, such as 10.0.0.0/8. It returns an error for
// any other text.
func (c *call) prefix(i int) (*net.IPNet, error) {
	text := c.args[i].AsString()
	_, network, err := net.ParseCIDR(decimal(text))
	if err != nil {
		return nil, fmt.Errorf("invalid CIDR expression: invalid CIDR address: %s", c.show(i, text))
	}
	return network, nil
}

// bigNumber returns argument i as a whole number. It returns an error for a number with more than 256 bits, because no
// address range is so large.
func (c *call) bigNumber(i int) (*big.Int, error) {
	if e := c.args[i].AsBigFloat().MantExp(nil); e > 256 {
		return nil, fmt.Errorf("the number is too large for any address range")
	}
	n := new(big.Int)
	if err := gocty.FromCtyValue(c.args[i], &n); err != nil {
		return nil, c.because(err)
	}
	return n, nil
}

func cidrHost(c *call) (cty.Value, error) {
	n, err := c.bigNumber(1)
	if err != nil {
		return cty.NilVal, err
	}
	network, err := c.prefix(0)
	if err != nil {
		return cty.NilVal, err
	}
	ip, err := cidr.HostBig(network, n)
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	return cty.StringVal(ip.String()), nil
}

func cidrNetmask(c *call) (cty.Value, error) {
	network, err := c.prefix(0)
	if err != nil {
		return cty.NilVal, err
	}
	if network.IP.To4() == nil {
		return cty.NilVal, fmt.Errorf("IPv6 addresses cannot have a netmask: %s", c.show(0, c.args[0].AsString()))
	}
	return cty.StringVal(net.IP(network.Mask).String()), nil
}

func cidrSubnet(c *call) (cty.Value, error) {
	bits, err := wholeNumber(c.args[1])
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	n, err := c.bigNumber(2)
	if err != nil {
		return cty.NilVal, err
	}
	network, err := c.prefix(0)
	if err != nil {
		return cty.NilVal, err
	}
	part, err := cidr.SubnetBig(network, bits, n)
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	return cty.StringVal(part.String()), nil
}

// cidrSubnets divides a network into consecutive subnets. Each subnet is the first network of its size that begins
// after the previous subnet.
func cidrSubnets(c *call) (cty.Value, error) {
	network, err := c.prefix(0)
	if err != nil {
		return cty.NilVal, c.badBecause(0, err)
	}
	length, most := network.Mask.Size()
	var parts []string
	var last *net.IPNet
	for i := 1; i < len(c.args); i++ {
		bits, err := c.newBits(i, length, most)
		if err != nil {
			return cty.NilVal, err
		}
		if last, err = c.nextPart(i, network, last, length+bits); err != nil {
			return cty.NilVal, err
		}
		parts = append(parts, last.String())
	}
	return stringList(parts), nil
}

// newBits returns the number of bits that argument i adds to a prefix of length bits. The parameter most is the number
// of bits of an address. If the prefix would be longer than most, newBits returns an error.
func (c *call) newBits(i, length, most int) (int, error) {
	bits, err := wholeNumber(c.args[i])
	switch {
	case err != nil:
		return 0, c.badBecause(i, err)
	case bits < 1:
		return 0, bad(i, "must extend prefix by at least one bit")
	case bits > 32: // a larger subnet number would not fit into an int on every platform
		return 0, bad(i, "may not extend prefix by more than 32 bits")
	case length+bits > most && most == 128:
		return 0, bad(i, "would extend prefix to %s bits, which is too long for an IPv6 address", c.show(i, length+bits))
	case length+bits > most:
		return 0, bad(i, "would extend prefix to %s bits, which is too long for an IPv4 address", c.show(i, length+bits))
	}
	return bits, nil
}

func (c *call) nextPart(i int, network, last *net.IPNet, length int) (*net.IPNet, error) {
	if last == nil {
		_, most := network.Mask.Size()
		return &net.IPNet{IP: network.IP, Mask: net.CIDRMask(length, most)}, nil
	}
	next, beyond := cidr.NextSubnet(last, length)
	if beyond || !network.Contains(next.IP) {
		return nil, bad(i, "not enough remaining address space for a subnet with a prefix of %s bits after %s",
			c.show(i, length), c.show(0, last))
	}
	return next, nil
}

func cidrContains(c *call) (cty.Value, error) {
	network, err := c.prefix(0)
	if err != nil {
		return cty.NilVal, c.badBecause(0, err)
	}
	first, last, err := c.addresses(1)
	if err != nil {
		return cty.NilVal, err
	}
	if (network.IP.To4() == nil) != (first.To4() == nil) {
		return cty.NilVal, errors.New("the two arguments are of different families: one is IPv4 and the other IPv6")
	}
	return cty.BoolVal(network.Contains(first) && network.Contains(last)), nil
}

// addresses returns the first and the last address of argument i, which is an address or a network.
func (c *call) addresses(i int) (first, last net.IP, err error) {
	text := decimal(c.args[i].AsString())
	if ip := net.ParseIP(text); ip != nil {
		return ip, ip, nil
	}
	_, network, err := net.ParseCIDR(text)
	if err != nil {
		return nil, nil, bad(i, "not an IP address or a network in CIDR notation: %s", c.show(i, c.args[i].AsString()))
	}
	first, last = cidr.AddressRange(network)
	return first, last, nil
}
