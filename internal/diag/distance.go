package diag

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// How far a guess goes: a word of three characters or more may be taken for another one if one slip
// leads there, one of seven if two do, one of eleven if three do, and none for more. Names are compared
// word by word, so that those that share their first words are not alike for that alone: instance_type
// was not meant by instance_name.
//
// The distance that libraries offer counts two characters that changed places, the most frequent of slips,
// as two.

const mostSlips = 3

// slips counts what leads from one name to another: characters that are missing, too many, wrong or
// swapped with their neighbour. Like is false where that is too much for one to be meant by the other.
func slips(a, b string) (n int, like bool) {
	if strings.EqualFold(a, b) {
		return 1, true
	}
	as, bs := words(a), words(b)
	if len(as) == 0 {
		return 0, false
	}
	if len(as) != len(bs) { // for a separator that is missing, or too many
		n, like = wordSlips(strings.Join(as, ""), strings.Join(bs, ""))
		return n + 1, like && n < mostSlips
	}
	for i := range as {
		more, like := wordSlips(as[i], bs[i])
		if n += more; !like || n > mostSlips {
			return n, false
		}
	}
	return n + 1, true // the separators may differ too
}

// words are the parts of a name.
func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-.:/ ", r) })
}

func wordSlips(a, b string) (n int, like bool) {
	if a == b {
		return 0, true
	}
	m, l := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	most := min((max(m, l)+1)/4, mostSlips)
	if m-l > most || l-m > most {
		return 0, false
	}
	n = distance([]rune(a), []rune(b))
	return n, n <= most
}

// distance is that of Levenshtein, with two characters that are swapped as one slip: each row of the
// table tells how far the beginnings of b are from one beginning of a.
func distance(a, b []rune) int {
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			changed := last[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// Suggest gives the candidate nearest to what was written, or "" when none is near: the "did you
// mean" of every kind of name. Of several the first one is given.
func Suggest(given string, candidates []string) string {
	best, fewest := "", mostSlips+2
	for _, c := range candidates {
		if n, like := slips(given, c); like && n < fewest {
			best, fewest = c, n
		}
	}
	return best
}

// DidYouMean is the end of a sentence about a name that is not there: ` Did you mean "x"?` with the nearest of the
// candidates, or nothing. It sorts the candidates.
func DidYouMean(given string, candidates []string) string {
	return Meant(SuggestAmong(given, candidates))
}

// SuggestAmong is Suggest for candidates in no order, which it sorts.
func SuggestAmong(given string, candidates []string) string {
	slices.Sort(candidates)
	return Suggest(given, candidates)
}

// Some names what there is, the first five of many.
func Some(names []string) string {
	const most = 5
	if n := len(names); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return strings.Join(names, ", ")
}

// Meant is the end of a sentence that says which name was meant; empty without one.
func Meant(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", name)
}

// Counted is a number with the words for one and for many: "1 change was", "2 changes were".
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
