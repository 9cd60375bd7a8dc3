package sshconn

import (
	"errors"
	"net"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Host is a host to log in to.
type Host struct {
	Name     string
	Port     int
	User     string
	Password string
	Key      ssh.Signer      // the private key of the user; nil: no key
	Cert     ssh.Signer      // the key with the user's certificate; nil: no certificate
	HostKeys []ssh.PublicKey // accepted keys of the host, or of an authority that certifies hosts; nil: any key is accepted
	Agent    *Agent          // nil: no agent is used
}

// Address returns host:port.
func (h *Host) Address() string { return Join(h.Name, h.Port) }

// Join returns host:port. The host may be an IPv6 address, with or without brackets.
func Join(host string, port int) string {
	return net.JoinHostPort(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), strconv.Itoa(port))
}

// Fixed is an error whose text contains no part of the configuration and no text from other systems.
type Fixed string

// ParseKey parses a private key. Errors contain no part of the text.
func ParseKey(pem string) (ssh.Signer, error) {
	key, err := ssh.ParsePrivateKey([]byte(pem))
	var missing *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &missing):
		return nil, Fixed("it is protected by a passphrase, which Lethe cannot ask for here. Load the key into an SSH agent, or decrypt it")
	case err != nil:
		return nil, Fixed("it is not a private key in PEM or OpenSSH format")
	}
	return key, nil
}

// Certify adds a certificate in OpenSSH format to its key. Any other text, or a certificate of another key, is an
// error.
func Certify(key ssh.Signer, text string) (ssh.Signer, error) {
	pub, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return nil, Fixed("it is not an OpenSSH certificate")
	}
	cert, ok := pub.(*ssh.Certificate)
	if !ok {
		return nil, Fixed("it is a public key, not a certificate")
	}
	signer, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		return nil, Fixed("it was issued for another key")
	}
	return signer, nil
}
