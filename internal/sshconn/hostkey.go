package sshconn

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// HostKeyError means that a host has not proved that it is the configured host.
type HostKeyError struct{ Why string }

func (e *HostKeyError) Error() string { return "host key verification failed: " + e.Why }

// ParseHostKeys parses public keys in the format of authorized_keys, one on each line: keys of the host, or of an
// authority that signs certificates of hosts. It ignores empty lines and comments. It returns an error if another line
// is not a key, or if the text contains no key.
func ParseHostKeys(s string) ([]ssh.PublicKey, error) {
	var keys []ssh.PublicKey
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil {
			return nil, Fixed("it is not a public key in OpenSSH format")
		}
		keys = append(keys, key)
	}
	if keys == nil {
		return nil, Fixed("it holds no public key")
	}
	return keys, nil
}

// check compares a host's key with the expected keys. A certificate is accepted if its key is expected, or if an
// expected authority has signed it and it is valid for this host now. Otherwise check returns a *HostKeyError.
func (h *Host) check(address string, remote net.Addr, key ssh.PublicKey) error {
	cert, ok := key.(*ssh.Certificate)
	if !ok {
		if h.expects(key) {
			return nil
		}
		return &HostKeyError{"the host's key is not the one in the configuration"}
	}
	if h.expects(cert.Key) {
		return nil
	}
	authority := ssh.CertChecker{IsHostAuthority: func(k ssh.PublicKey, _ string) bool { return h.expects(k) }}
	if !h.expects(cert.SignatureKey) {
		return &HostKeyError{"the host's certificate was not signed with the key in the configuration"}
	}
	if err := authority.CheckHostKey(address, remote, key); err != nil {
		return &HostKeyError{"the host's certificate is not valid for this host at this time"}
	}
	return nil
}

func (h *Host) expects(key ssh.PublicKey) bool {
	return slices.ContainsFunc(h.HostKeys, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) })
}

// proofs returns lists of host key algorithms. Login tries to connect with one list after the other, because a host
// with keys of several types presents the key of the type that the list requests: first the types of the expected keys,
// then certificates. The list nil permits all algorithms; it is returned if no keys are expected.
func (h *Host) proofs() [][]string {
	if h.HostKeys == nil {
		return [][]string{nil}
	}
	var plain []string
	for _, k := range h.HostKeys {
		algos := []string{k.Type()}
		if k.Type() == ssh.KeyAlgoRSA {
			algos = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		for _, a := range algos {
			if !slices.Contains(plain, a) {
				plain = append(plain, a)
			}
		}
	}
	return [][]string{plain, certAlgos}
}

// certAlgos holds the algorithms of host certificates.
var certAlgos = []string{
	ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
	ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
}

// unproven reports whether a handshake failed because the host has no expected key.
func unproven(err error) bool {
	var key *HostKeyError
	var algo *ssh.AlgorithmNegotiationError
	return errors.As(err, &key) || errors.As(err, &algo) && algo.What == "host key"
}

// Known returns the keys of a host in files in the format of known_hosts, and the keys of authorities that certify the
// host, without revoked keys. Missing files count as empty. Lines that cannot be parsed are skipped, as in OpenSSH,
// because they may be for an older or a newer version. If a file cannot be read, the error names the file, but contains
// no part of it.
func Known(address string, files ...string) ([]ssh.PublicKey, error) {
	readable, err := parsable(files)
	if err != nil {
		return nil, err
	}
	defer os.Remove(readable)
	check, err := knownhosts.New(readable)
	if err != nil {
		return nil, Fixed("the files of known hosts cannot be parsed")
	}
	somewhere := &net.TCPAddr{IP: net.IPv4zero}
	var expected *knownhosts.KeyError
	if !errors.As(check(address, somewhere, noHostKey{}), &expected) {
		return nil, nil
	}
	var keys []ssh.PublicKey
	for _, k := range expected.Want {
		if check(address, somewhere, k.Key) == nil {
			keys = append(keys, k.Key)
		}
	}
	return keys, nil
}

// parsable copies the lines that can be parsed from the files into a temporary file, because the library reads only
// files, and refuses a whole file if one line is invalid.
func parsable(files []string) (name string, err error) {
	out, err := os.CreateTemp("", "lethe-known-hosts-")
	if err != nil {
		return "", err
	}
	defer out.Close()
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			os.Remove(out.Name())
			return "", Fixed("the file " + f + " cannot be read")
		}
		for line := range bytes.Lines(text) {
			if _, _, _, _, _, err := ssh.ParseKnownHosts(line); err == nil {
				_, _ = out.Write(append(bytes.TrimSpace(line), '\n'))
			}
		}
	}
	return out.Name(), nil
}

// noHostKey is a key that no host has. The error of the library about it lists the known keys.
type noHostKey struct{}

func (noHostKey) Type() string { return "none" }

func (noHostKey) Marshal() []byte { return []byte("none") }

func (noHostKey) Verify([]byte, *ssh.Signature) error { return errors.New("the key of no host") }
