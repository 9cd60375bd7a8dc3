package sshconn

import (
	"net"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Host is a host that we log in to.
type Host struct {
	Name     string
	Port     int
	User     string
	Password string
	Key      ssh.Signer      // nil: none
	Cert     ssh.Signer      // the key with its certificate; nil: none
	HostKeys []ssh.PublicKey // of the host, or of an authority that certifies hosts; nil: any host is believed
	Agent    *Agent          // nil: not used
}

// Address is host:port.
func (h *Host) Address() string { return Join(h.Name, h.Port) }

// Join is host:port; the host may be an IPv6 address, in brackets or not.
func Join(host string, port int) string {
	return net.JoinHostPort(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), strconv.Itoa(port))
}

// Fixed is an error whose text holds nothing of the configuration, nor of what others said.
type Fixed string
