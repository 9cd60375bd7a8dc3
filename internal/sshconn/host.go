package sshconn

import (
	"errors"
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

// ParseKey reads a private key. Errors hold nothing of the text.
func ParseKey(pem string) (ssh.Signer, error) {
	key, err := ssh.ParsePrivateKey([]byte(pem))
	var missing *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &missing):
		return nil, Fixed("it is protected by a passphrase, and Lethe cannot ask for that here: load the key into an SSH agent, or decrypt it")
	case err != nil:
		return nil, Fixed("it is not a private key in PEM or OpenSSH format")
	}
	return key, nil
}

// Certify adds a certificate, in OpenSSH format, to its key.
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
		return nil, Fixed("it was made for another key")
	}
	return signer, nil
}
