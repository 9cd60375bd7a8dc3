package crypt

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// ErrKey reports that data was encrypted with another key, or was changed after its encryption.
var ErrKey = errors.New("the key is wrong, or the data was changed after encryption")

// KeysArgument is the name of the argument with which a method refers to its key provider.
const KeysArgument = "keys"

// MethodKinds lists the kinds of encryption methods. The kind "unencrypted" makes a nil Method.
var MethodKinds = Kinds[Method]{
	{Name: "aes_gcm", Argument: Always, Make: newAESGCM, Schema: store.Schema(
		&schema.Attr{Name: "aad", Type: cty.List(cty.Number), Optional: true, Description: "Additional data that is authenticated but not encrypted, as bytes."},
	)},
	{Name: "external", Argument: Maybe, Make: newExternalMethod, Schema: store.Schema(
		&schema.Attr{Name: "encrypt_command", Type: cty.List(cty.String), Required: true, Description: "The program that encrypts, and its arguments."},
		&schema.Attr{Name: "decrypt_command", Type: cty.List(cty.String), Required: true, Description: "The program that decrypts, and its arguments."},
	)},
	{Name: "unencrypted", Schema: &schema.Block{}, Make: func(store.Settings) (Method, error) { return nil, nil }},
}

// aesGCM is AES in Galois/counter mode. Its output is a nonce of 12 bytes, the encrypted data, and a tag of 16 bytes.
type aesGCM struct{ aad []byte }

func newAESGCM(s store.Settings) (Method, error) {
	m := aesGCM{}
	if v := s.Config.GetAttr("aad"); !v.IsNull() {
		for _, n := range v.AsValueSlice() {
			n, err := convert.Convert(n, cty.Number)
			if err != nil || n.IsNull() {
				return nil, s.Bad("aad", `"aad" must be a list of bytes, numbers from 0 to 255`)
			}
			b, _ := n.AsBigFloat().Int64()
			if b < 0 || b > 255 || !n.AsBigFloat().IsInt() {
				return nil, s.Bad("aad", `"aad" must be a list of bytes, numbers from 0 to 255`)
			}
			m.aad = append(m.aad, byte(b))
		}
	}
	return m, nil
}

func (m aesGCM) aead(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the key has %d bytes, but AES needs 16, 24 or 32", len(key))
	}
	return cipher.NewGCM(block)
}

// Seal encrypts plain with a key.
func (m aesGCM) Seal(_ context.Context, key, plain []byte) ([]byte, error) {
	a, err := m.aead(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, a.NonceSize(), a.NonceSize()+len(plain)+a.Overhead())
	_, _ = rand.Read(nonce) // rand.Read never fails
	return a.Seal(nonce, nonce, plain, m.aad), nil
}

// Open decrypts the result of Seal. It returns ErrKey if the key does not fit the data.
func (m aesGCM) Open(_ context.Context, key, data []byte) ([]byte, error) {
	a, err := m.aead(key)
	if err != nil {
		return nil, err
	}
	if len(data) < a.NonceSize()+a.Overhead() {
		return nil, errors.New("the encrypted data is truncated")
	}
	plain, err := a.Open(nil, data[:a.NonceSize()], data[a.NonceSize():], m.aad)
	if err != nil {
		return nil, ErrKey
	}
	return plain, nil
}
