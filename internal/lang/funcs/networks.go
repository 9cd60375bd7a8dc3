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

const prefixDoc = "The network: an address, a slash and the number of bits that are fixed."

var networks = []*builtin{
	fixed("cidrcontains", "Tells whether a network contains an address or another network. Both must be of one family, IPv4 or IPv6.", cty.Bool, cidrContains,
		text("containing_prefix", prefixDoc),
		text("contained_ip_or_prefix", "The address or network that may be in it.")),
	fixed("cidrhost", "Gives the address of a host in a network.", cty.String, cidrHost,
		text("prefix", prefixDoc),
		number("hostnum", "The number of the host; a negative one counts from the end.")),
	fixed("cidrnetmask", "Gives the netmask of an IPv4 network.", cty.String, cidrNetmask,
		text("prefix", prefixDoc)),
	fixed("cidrsubnet", "Gives one of the networks into which a network can be divided.", cty.String, cidrSubnet,
		text("prefix", prefixDoc),
		number("newbits", "How many more bits are fixed in each part."),
		number("netnum", "The number of the part.")),
	{
		name: "cidrsubnets", doc: "Divides a network into parts that follow each other.",
		params:  []param{{name: "prefix", typ: cty.String, doc: prefixDoc}},
		rest:    &param{name: "newbits", typ: cty.Number, doc: "How many more bits are fixed in each of the parts, in order."},
		returns: cty.List(cty.String), run: cidrSubnets,
	},
}

// decimal takes the leading zeros off the octets of an IPv4 address. Package net reads no address that
// has them, since some programs take the number to be octal; configurations have them, and mean decimal.
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

// prefix is the network that argument i describes.
func (c *call) prefix(i int) (*net.IPNet, error) {
	text := c.args[i].AsString()
	_, network, err := net.ParseCIDR(decimal(text))
	if err != nil {
		return nil, fmt.Errorf("invalid CIDR expression: invalid CIDR address: %s", c.show(i, text))
	}
	return network, nil
}

// bigNumber is a whole number of any size that an address can have.
func (c *call) bigNumber(i int) (*big.Int, error) {
	if e := c.args[i].AsBigFloat().MantExp(nil); e > 256 {
		return nil, fmt.Errorf("no address range accommodates a number as large as this")
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

// cidrSubnets takes for each part the first network of its size that begins after the one before.
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

// newBits is how much longer a prefix of that length becomes for part i.
func (c *call) newBits(i, length, most int) (int, error) {
	bits, err := wholeNumber(c.args[i])
	switch {
	case err != nil:
		return 0, c.badBecause(i, err)
	case bits < 1:
		return 0, bad(i, "must extend prefix by at least one bit")
	case bits > 32: // subnet numbers beyond would not fit into an int everywhere
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
	next, over := cidr.NextSubnet(last, length)
	if over || !network.Contains(next.IP) {
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

// addresses are the first and the last address that argument i stands for.
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
