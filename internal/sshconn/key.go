package sshconn

import (
	"errors"

	"golang.org/x/crypto/ssh"
)

// ParseKey reads a private key. Errors hold nothing of the text.
func ParseKey(pem string) (ssh.Signer, error) {
	key, err := ssh.ParsePrivateKey([]byte(pem))
	var missing *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &missing):
		return nil, Fixed("it is protected by a passphrase, which cannot be asked for here: load the key into an SSH agent, or decrypt it")
	case err != nil:
		return nil, Fixed("it is no private key in PEM or OpenSSH format")
	}
	return key, nil
}

// Certify adds a certificate, in OpenSSH format, to its key.
func Certify(key ssh.Signer, text string) (ssh.Signer, error) {
	pub, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return nil, Fixed("it is no OpenSSH certificate")
	}
	cert, ok := pub.(*ssh.Certificate)
	if !ok {
		return nil, Fixed("it is a public key and no certificate")
	}
	signer, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		return nil, Fixed("it was made for another key")
	}
	return signer, nil
}
