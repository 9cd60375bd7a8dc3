package cli

import (
	"fmt"
	"strings"
)

// unified is the difference between two texts in the unified form, with three lines of context.
func unified(name string, a, b []byte) string {
	edits := diffLines(linesOf(a), linesOf(b))
	var out strings.Builder
	fmt.Fprintf(&out, "--- old/%s\n+++ new/%s\n", name, name)
	for _, h := range hunks(edits) {
		writeHunk(&out, edits[h[0]:h[1]])
	}
	return out.String()
}

// linesOf are the lines of a text, with their ends.
func linesOf(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// edit is one line of a difference: kept (' '), removed ('-') or added ('+').
type edit struct {
	kind byte
	text string
	x, y int // line numbers before it
}

// diffLines finds a difference by the longest common subsequence of what lies between the common
// beginning and end. Texts too different for that are replaced as a whole.
func diffLines(x, y []string) []edit {
	var out []edit
	i := 0
	for i < len(x) && i < len(y) && x[i] == y[i] {
		out = append(out, edit{' ', x[i], i, i})
		i++
	}
	ex, ey := len(x), len(y)
	for ex > i && ey > i && x[ex-1] == y[ey-1] {
		ex, ey = ex-1, ey-1
	}
	out = middle(out, x[i:ex], y[i:ey], i)
	for k := range x[ex:] {
		out = append(out, edit{' ', x[ex+k], ex + k, ey + k})
	}
	return out
}

func middle(out []edit, x, y []string, at int) []edit {
	i, j := 0, 0
	if len(x)*len(y) <= 4_000_000 {
		table := common(x, y)
		for i < len(x) && j < len(y) {
			switch {
			case x[i] == y[j]:
				out = append(out, edit{' ', x[i], at + i, at + j})
				i, j = i+1, j+1
			case table[i+1][j] >= table[i][j+1]:
				out = append(out, edit{'-', x[i], at + i, at + j})
				i++
			default:
				out = append(out, edit{'+', y[j], at + i, at + j})
				j++
			}
		}
	}
	for ; i < len(x); i++ {
		out = append(out, edit{'-', x[i], at + i, at + j})
	}
	for ; j < len(y); j++ {
		out = append(out, edit{'+', y[j], at + i, at + j})
	}
	return out
}

// common is the table of lengths of common subsequences of the tails.
func common(x, y []string) [][]int32 {
	table := make([][]int32, len(x)+1)
	for i := range table {
		table[i] = make([]int32, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// hunks are the stretches of edits to show: changes with three lines around them.
func hunks(edits []edit) [][2]int {
	const around = 3
	var out [][2]int
	for i, e := range edits {
		if e.kind == ' ' {
			continue
		}
		lo, hi := max(0, i-around), min(len(edits), i+around+1)
		if n := len(out); n > 0 && out[n-1][1] >= lo {
			out[n-1][1] = hi
		} else {
			out = append(out, [2]int{lo, hi})
		}
	}
	return out
}

func writeHunk(out *strings.Builder, edits []edit) {
	var nx, ny int
	for _, e := range edits {
		if e.kind != '+' {
			nx++
		}
		if e.kind != '-' {
			ny++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", stretch(edits[0].x, nx), stretch(edits[0].y, ny))
	for _, e := range edits {
		out.WriteByte(e.kind)
		out.WriteString(e.text)
		if !strings.HasSuffix(e.text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// stretch is where n lines after the first ones are, as the unified form wants it: one line without
// its number, none with the line before.
func stretch(before, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", before)
	case 1:
		return fmt.Sprint(before + 1)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}
