package registry

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
)

// verify finds the key among those of the registry that signed a list of checksums, and gives its ID. A key
// that has expired since counts, as in OpenTofu and Terraform: what it signed cannot be signed again. One that
// was revoked does not.
func verify(signed, signature []byte, keys []string) (string, error) {
	for _, armor := range keys {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(armor))
		if err != nil {
			return "", fmt.Errorf("a signing key of the registry cannot be read: %w", err)
		}
		by, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(signed), bytes.NewReader(signature), nil)
		switch {
		case errors.Is(err, pgperrors.ErrUnknownIssuer):
		case by != nil && (err == nil || errors.Is(err, pgperrors.ErrKeyExpired)):
			return by.PrimaryKey.KeyIdString(), nil
		default:
			return "", fmt.Errorf("the signature of the registry's list of checksums does not hold: %w", err)
		}
	}
	return "", errors.New("the registry's list of checksums is signed by none of the keys that the registry names")
}
