package provision

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/zclconf/go-cty/cty"
)

// settings are a connection block's, with defaults filled in.
type settings struct {
	platform platform
	timeout  time.Duration
	script   string // pattern of paths for scripts; may be empty
	proxy    *proxy // nil: direct
	bastion  *hop   // nil: direct
	target   hop
}

// hop is a host that we log in to.
type hop struct {
	host     string
	port     int
	user     string
	password string
	key      ssh.Signer // nil: none
	cert     ssh.Signer // the key with its certificate; nil: none
	hostKeys []ssh.PublicKey
	agent    *sshAgent // nil: not used
}

func (h *hop) address() string { return join(h.host, h.port) }

// join is host:port; the host may be an IPv6 address, in brackets or not.
func join(host string, port int) string {
	return net.JoinHostPort(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), strconv.Itoa(port))
}

// readSettings reads a connection block that was validated. Errors hold no value of it.
func readSettings(obj cty.Value, env []string) (*settings, error) {
	s := &settings{
		platform: text(obj, "target_platform") == "windows",
		script:   text(obj, "script_path"),
		timeout:  5 * time.Minute,
		target: hop{
			host: text(obj, "host"),
			port: cmp.Or(number(obj, "port"), 22),
			user: cmp.Or(text(obj, "user"), "root"),
		},
	}
	if d, err := time.ParseDuration(text(obj, "timeout")); err == nil && d > 0 {
		s.timeout = d
	}
	if err := s.target.credentials(obj, ""); err != nil {
		return nil, err
	}
	if text(obj, "bastion_host") != "" {
		s.bastion = &hop{
			host: text(obj, "bastion_host"),
			port: cmp.Or(number(obj, "bastion_port"), s.target.port),
			user: cmp.Or(text(obj, "bastion_user"), s.target.user),
		}
		if err := s.bastion.credentials(obj, "bastion_"); err != nil {
			return nil, err
		}
		s.bastion.inherit(&s.target)
	}
	if text(obj, "proxy_host") != "" {
		s.proxy = readProxy(obj)
	}
	return s, s.useAgent(obj, env)
}

// credentials reads what is named the same for the target and, with a prefix, for a bastion.
func (h *hop) credentials(obj cty.Value, prefix string) error {
	h.password = text(obj, prefix+"password")
	if pem := text(obj, prefix+"private_key"); pem != "" {
		key, err := parseKey(pem)
		if err != nil {
			return fmt.Errorf("%sprivate_key cannot be used: %w", prefix, err)
		}
		h.key = key
	}
	if cert := text(obj, prefix+"certificate"); cert != "" && h.key != nil {
		signer, err := certify(h.key, cert)
		if err != nil {
			return fmt.Errorf("%scertificate cannot be used: %w", prefix, err)
		}
		h.cert = signer
	}
	if keys := text(obj, prefix+"host_key"); keys != "" {
		var err error
		if h.hostKeys, err = parseHostKeys(keys); err != nil {
			return fmt.Errorf("%shost_key cannot be used: %w", prefix, err)
		}
	}
	return nil
}

// inherit fills in what a bastion has from the target, where nothing else is said.
func (h *hop) inherit(from *hop) {
	h.password = cmp.Or(h.password, from.password)
	if h.key == nil {
		h.key, h.cert = from.key, from.cert
	}
}

// parseKey reads a private key. The library's errors hold nothing of the text.
func parseKey(pem string) (ssh.Signer, error) {
	key, err := ssh.ParsePrivateKey([]byte(pem))
	var missing *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &missing):
		return nil, fixed("it is protected by a passphrase, which cannot be asked for here: load the key into an SSH agent, or decrypt it")
	case err != nil:
		return nil, fixed("it is no private key in PEM or OpenSSH format")
	}
	return key, nil
}

// certify adds a certificate to its key.
func certify(key ssh.Signer, text string) (ssh.Signer, error) {
	pub, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return nil, fixed("it is no OpenSSH certificate")
	}
	cert, ok := pub.(*ssh.Certificate)
	if !ok {
		return nil, fixed("it is a public key and no certificate")
	}
	signer, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		return nil, fixed("it was made for another key")
	}
	return signer, nil
}

// number is an argument's value, 0 if it is not set.
func number(obj cty.Value, name string) int {
	v := obj.GetAttr(name)
	if v.IsNull() {
		return 0
	}
	return int64Of(v.AsBigFloat())
}

func int64Of(f *big.Float) int {
	n, _ := f.Int64()
	return int(n)
}
