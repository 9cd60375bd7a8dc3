package file

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// A saved plan is a zip archive. Its seal is the comment of the archive, which has the last bytes of the file:
//
//	lethe plan seal ID MAC sha256:SUM
//
// ID identifies the key: 16 hexadecimal digits, or zeros without a key. MAC is the HMAC-SHA-256 under this key, of the
// SHA-256 of all bytes before MAC, including ID. It is zeros without a key. SUM is the SHA-256 of all bytes before SUM.
// So every reader of a plan detects damage by SUM, and a reader with the key detects intentional changes by MAC.
const (
	sealBegin = "lethe plan seal "
	sealSum   = " sha256:"
	idDigits  = 16
	macDigits = 2 * sha256.Size
	sealSize  = len(sealBegin) + idDigits + 1 + macDigits + len(sealSum) + macDigits
)

// keyID returns the ID of a key, which does not reveal the key. For a nil key, the ID is zeros.
func keyID(key []byte) string {
	if key == nil {
		return strings.Repeat("0", idDigits)
	}
	sum := sha256.Sum256(append([]byte("lethe plan key "), key...))
	return hex.EncodeToString(sum[:idDigits/2])
}

// seal returns the seal of an archive. The parameter before has the bytes of the archive before the seal.
func seal(before, key []byte) []byte {
	sum := sha256.New()
	sum.Write(before)
	return sealOf(sum, key)
}

// sealOf returns the seal of an archive. sum is a SHA-256 that has digested the bytes of the archive before the seal.
// sealOf continues to use sum.
func sealOf(sum hash.Hash, key []byte) []byte {
	out := append([]byte(sealBegin+keyID(key)+" "), strings.Repeat("0", macDigits)...)
	sum.Write(out[:len(out)-macDigits])
	if key != nil {
		mac := hmac.New(sha256.New, key)
		mac.Write(sum.Sum(nil))
		hex.Encode(out[len(out)-macDigits:], mac.Sum(nil))
	}
	out = append(out, sealSum...)
	sum.Write(out[len(sealBegin)+idDigits+1:])
	return hex.AppendEncode(out, sum.Sum(nil))
}

// sealer writes the bytes of an archive to out, except for the last sealSize bytes. These are a placeholder for the
// comment of the archive. The method end writes the seal in their place, because the seal is known only after all bytes
// before it.
type sealer struct {
	out  *bufio.Writer
	sum  hash.Hash
	key  []byte
	held []byte // the last sealSize bytes or fewer; all earlier bytes were written to out
}

func newSealer(w io.Writer, key []byte) *sealer {
	return &sealer{out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New(), key: key}
}

// Write passes on the bytes that are no longer among the last sealSize bytes, and keeps the others. It returns no
// error: end returns the errors of out.
func (s *sealer) Write(p []byte) (int, error) {
	if excess := min(len(s.held)+len(p)-sealSize, len(s.held)); excess > 0 {
		s.on(s.held[:excess])
		s.held = append(s.held[:0], s.held[excess:]...)
	}
	if excess := len(s.held) + len(p) - sealSize; excess > 0 { // if p is larger than the seal, held is empty at this point
		s.on(p[:excess])
		s.held = append(s.held, p[excess:]...)
	} else {
		s.held = append(s.held, p...)
	}
	return len(p), nil
}

// on adds bytes to the hash, and writes them to out. The writer out keeps its first error, and the method end returns
// it.
func (s *sealer) on(p []byte) {
	s.sum.Write(p)
	s.out.Write(p)
}

// end writes the seal in place of the last sealSize bytes. It returns the first error of all writes.
func (s *sealer) end() error {
	s.out.Write(sealOf(s.sum, s.key))
	return s.out.Flush()
}

// checkSeal compares the seal at the end of data, the whole archive, with the bytes before the seal. It returns an
// error if the checksum does not match, or if the seal has the ID of key and a wrong MAC. The result own is true if the
// seal was made with key. The result own is false without an error if the seal was made without a key or with another
// key, or if key is nil.
func checkSeal(data, key []byte) (own bool, d *diag.Diagnostic) {
	at := max(0, len(data)-sealSize)
	before, have := data[:at], data[at:]
	id, ok := bytes.CutPrefix(have, []byte(sealBegin))
	if !ok || len(have) < sealSize {
		return false, broken("its end is missing or was changed after it was written")
	}
	sum := sha256.Sum256(data[:len(data)-macDigits])
	if !bytes.Equal(hex.AppendEncode(nil, sum[:]), data[len(data)-macDigits:]) {
		return false, broken("its contents do not match its checksum, so it was damaged or changed after it was written")
	}
	if key == nil || string(id[:idDigits]) != keyID(key) {
		return false, nil
	}
	if !hmac.Equal(seal(before, key), have) {
		return false, broken("it was changed after it was created, and signed again without the key")
	}
	return true, nil
}

const badFile = "Invalid plan file"

func broken(format string, a ...any) *diag.Diagnostic {
	d := diag.Errorf(badFile, "cannot be used as a saved plan: "+format+". Make a new plan.", a...)
	return &d
}
