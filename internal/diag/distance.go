package diag

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The functions in this file suggest a known name in place of an unknown name if few slips of a typist can make one
// from the other. A word of at least three characters may contain one slip, a word of at least seven two, and a word of
// at least eleven three. Names are compared word by word, so that names with the same first words are not similar for
// this reason only: instance_name is not suggested for instance_type.
//
// The distance in libraries counts two swapped characters, the most frequent slip, as two slips.

const mostSlips = 3

// slips counts the slips (mistakes of a typist) that make b from a: characters that are missing, superfluous, wrong or
// swapped with their neighbour. n is 1 for names that differ only in the case of letters, and otherwise the number of
// slips plus 1. The result like is false if the names are too different.
func slips(a, b string) (n int, like bool) {
	if strings.EqualFold(a, b) {
		return 1, true
	}
	as, bs := words(a), words(b)
	if len(as) == 0 {
		return 0, false
	}
	if len(as) != len(bs) { // the numbers of words differ: a separator is missing or superfluous
		n, like = wordSlips(strings.Join(as, ""), strings.Join(bs, ""))
		return n + 1, like && n < mostSlips
	}
	for i := range as {
		more, like := wordSlips(as[i], bs[i])
		if n += more; !like || n > mostSlips {
			return n, false
		}
	}
	return n + 1, true // one more, because the separators, such as - and _, may differ, too
}

// words returns the words of a name, without the separators between them.
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

// distance returns the Levenshtein distance, but counts two swapped characters as one slip. Each row of the table holds
// the distances between one prefix of a and all prefixes of b.
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

// Suggest returns the candidate that is most similar to the given name, or "" if no candidate is similar. If several
// candidates are equally similar, it returns the first of them.
func Suggest(given string, candidates []string) string {
	best, fewest := "", mostSlips+2
	for _, c := range candidates {
		if n, like := slips(given, c); like && n < fewest {
			best, fewest = c, n
		}
	}
	return best
}

// DidYouMean returns the end of a sentence about an unknown name: ` Did you mean "x"?` with the nearest candidate, or
// "". It sorts the candidates.
func DidYouMean(given string, candidates []string) string {
	return Meant(SuggestAmong(given, candidates))
}

// SuggestAmong sorts the candidates and returns the result of Suggest.
func SuggestAmong(given string, candidates []string) string {
	slices.Sort(candidates)
	return Suggest(given, candidates)
}

// Some returns a list of names for messages. If there are more than five names, it has the first five and the number of
// the others.
func Some(names []string) string {
	const most = 5
	if n := len(names); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return strings.Join(names, ", ")
}

// Meant returns the end of a sentence that suggests a name, or "" if name is empty.
func Meant(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", name)
}

// Counted returns a number with the words for one or for many: "1 change was", "2 changes were".
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
