package plankey

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"testing"
)

// TestSlowKey checks that the key is not a digest of the text, and that its derivation takes much memory, so that a
// reader of a plan can try few texts.
func TestSlowKey(t *testing.T) {
	const text = "correct horse battery"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	key := slowKey(text)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used < 32<<20 {
		t.Errorf("a trial takes %d bytes", used)
	}
	if plain := sha256.Sum256([]byte(text)); bytes.Equal(key, plain[:]) || len(key) != sha256.Size {
		t.Error("the key is a digest")
	}
	if !bytes.Equal(key, slowKey(text)) || bytes.Equal(key, slowKey(text+".")) {
		t.Error("the key is not that of the text")
	}
}
