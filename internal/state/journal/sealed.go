package journal

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
)

var errEncrypted = errors.New("the journal is encrypted, and the state has no encryption settings: use the encryption settings of the interrupted run")

// keyPurpose is the beginning of the plain text of a key record. It prevents that another text, encrypted with the same
// settings, is used as the key of a journal.
const keyPurpose = "lethe journal key\n"

const keySize = 32

// newKey makes the key of a journal, and the payload of the key record: the key, encrypted by s. If s does not encrypt,
// both are nil.
func newKey(s Sealing) (key, payload []byte, err error) {
	if s == nil || !s.Encrypts() {
		return nil, nil, nil
	}
	raw := make([]byte, keySize)
	_, _ = rand.Read(raw) // never fails
	if payload, err = s.Seal(context.Background(), append([]byte(keyPurpose), raw...)); err != nil {
		return nil, nil, err
	}
	return raw, payload, nil
}

// aead returns the cipher for a key, or nil if key is nil.
func aead(key []byte) cipher.AEAD {
	if key == nil {
		return nil
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // cannot fail, because the key has 32 bytes
	}
	a, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // cannot fail, because AES has the block size of GCM
	}
	return a
}

// about returns the additional data of an encrypted record: its type and number, which are authenticated but not
// encrypted.
func about(k kind, number uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{byte(k)}, number)
}

// sealed returns the encrypted payload of a record. If key is nil, it returns payload unchanged. The nonce is random.
// It cannot be derived from the record's number, because the number of an incomplete record that was cut off is used
// again.
func sealed(key cipher.AEAD, k kind, number uint32, payload []byte) []byte {
	if key == nil {
		return payload
	}
	nonce := make([]byte, key.NonceSize(), key.NonceSize()+len(payload)+key.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return key.Seal(nonce, nonce, payload, about(k, number))
}

// opened returns the decrypted records of a journal, and the key of the journal. Records that the key does not decrypt
// are omitted, like damaged records; lost is the number of their bytes.
//
// Without a key record, nothing proves who wrote the journal. So a journal without a key record is accepted only if
// encryption is not required.
func opened(list []record, s Sealing) (out []record, key []byte, lost int, err error) {
	if len(list) == 0 {
		return nil, nil, 0, nil
	}
	if list[0].kind != keyRecord {
		if s != nil {
			err = s.AcceptsPlain()
		}
		return list, nil, 0, err
	}
	if s == nil {
		return nil, nil, 0, errEncrypted
	}
	plain, err := s.Open(context.Background(), list[0].payload)
	if err != nil {
		return nil, nil, 0, err
	}
	raw, ok := bytes.CutPrefix(plain, []byte(keyPurpose))
	if !ok || len(raw) != keySize {
		return nil, nil, 0, errors.New("its first record is encrypted and is not the key of a journal. It was written by another version of Lethe, or changed later")
	}
	out, lost = decrypted(list, raw)
	return out, raw, lost, nil
}

// decrypted decrypts the records after the first one, which is the key record. lost is the number of bytes in records
// that raw does not decrypt.
func decrypted(list []record, raw []byte) (out []record, lost int) {
	key := aead(raw)
	for i, r := range list {
		if i == 0 {
			out = append(out, r)
			continue
		}
		n := key.NonceSize()
		if len(r.payload) < n {
			lost += len(r.payload)
			continue
		}
		plain, err := key.Open(nil, r.payload[:n], r.payload[n:], about(r.kind, r.number))
		if err != nil {
			lost += len(r.payload)
			continue
		}
		out = append(out, record{r.kind, r.number, plain})
	}
	return out, lost
}
