package secret

import "strings"

// Texts finds out whether one of several texts contains a string. A bitmap excludes most strings, so the texts
// themselves are seldom searched.
type Texts struct {
	texts []string
	bits  table // only the bitmap is used: it has the keys (8 bytes) at all places of the texts
}

// NewTexts makes the bitmap of texts. Its time and memory are proportional to their total length.
func NewTexts(texts []string) *Texts {
	t := &Texts{texts: texts}
	n := 0
	for _, text := range texts {
		n += len(text)
	}
	t.bits.size(1 + n/8) // 8 bits for each place
	for _, text := range texts {
		if len(text) < keyLen {
			continue
		}
		key := keyOf(text)
		for i := keyLen; ; i++ {
			t.bits.set(key)
			if i == len(text) {
				break
			}
			key = key>>8 | uint64(text[i])<<56
		}
	}
	return t
}

// Contain reports whether one of the texts contains a string.
func (t *Texts) Contain(s string) bool {
	for i := 0; i+keyLen <= len(s); i++ {
		if word, mask := t.bits.bit(keyOf(s[i:])); t.bits.bitmap[word]&mask == 0 {
			return false
		}
	}
	for _, text := range t.texts {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}
