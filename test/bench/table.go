package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// line is a row with its figures by engine and round. An engine that failed or did not finish in time has no figures,
// and its error is in failed.
type line struct {
	row    row
	runs   [][]figures
	failed []error
}

// median returns the median of one figure over all runs, or 0 if there are no runs. of(run) is the figure of a run.
func median(runs []figures, of func(figures) float64) float64 {
	var all []float64
	for _, f := range runs {
		all = append(all, of(f))
	}
	return middle(all)
}

// middle returns the median of numbers, or 0 if there are no numbers. It sorts the list.
func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	if n := len(all); n%2 == 0 {
		return (all[n/2-1] + all[n/2]) / 2
	}
	return all[len(all)/2]
}

// clock is a number of CPU seconds. Short commands differ by this much from run to run, so over ignores it.
const clock = 0.005

// over returns the additional CPU time of the last engine over the first, in percent: the median of the rounds. The
// time of providers does not count. If one of the two engines has no measured rounds, it returns 0.
func (l line) over() float64 {
	first, last := l.runs[0], l.runs[len(l.runs)-1]
	var ratios []float64
	for i := range min(len(first), len(last)) {
		ratios = append(ratios, (last[i].engine()-clock)/cmp.Or(first[i].engine(), clock))
	}
	if len(ratios) == 0 {
		return 0
	}
	return 100 * (middle(ratios) - 1)
}

// seconds formats a time in seconds with three decimal places below 0.1, and two otherwise.
func seconds(s float64) string {
	if s < 0.1 {
		return strconv.FormatFloat(s, 'f', 3, 64)
	}
	return strconv.FormatFloat(s, 'f', 2, 64)
}

// ratio formats a/b with two digits, or as a dash if a or b is 0.
func ratio(a, b float64) string {
	if a == 0 || b == 0 {
		return "–"
	}
	return strconv.FormatFloat(a/b, 'g', 2, 64)
}

// why returns the cell of an engine without figures.
func why(err error) string {
	if errors.Is(err, errSlow) {
		return "not finished"
	}
	return "failed"
}

// cells returns the line of the table: for each engine CPU seconds of the engine, of all processes, and peak MB; the
// ratios of the other engines to the first; calls; wall seconds.
func (l line) cells(engines []engine) string {
	cells := []string{l.row.Name}
	var ratios, calls, walls []string
	for i := range engines {
		runs := l.runs[i]
		if len(runs) == 0 {
			cells, calls, walls = append(cells, why(l.failed[i])), append(calls, "–"), append(walls, "–")
		} else {
			cells = append(cells, fmt.Sprintf("%s / %s / %.0f", seconds(median(runs, figures.engine)), seconds(median(runs, figures.total)),
				median(runs, func(f figures) float64 { return f.Peak })))
			calls = append(calls, strconv.Itoa(runs[0].calls()))
			walls = append(walls, seconds(median(runs, func(f figures) float64 { return f.Wall })))
		}
		if i > 0 {
			ratios = append(ratios, ratio(median(runs, figures.engine), median(l.runs[0], figures.engine))+" / "+ratio(median(runs, figures.total), median(l.runs[0], figures.total)))
		}
	}
	cells = append(cells, ratios...)
	return "| " + strings.Join(append(cells, strings.Join(calls, " / "), strings.Join(walls, " / ")), " | ") + " |"
}

// printTable prints lines as a Markdown table, or a message if there are no lines.
func printTable(out io.Writer, engines []engine, lines []line) {
	if len(lines) == 0 {
		fmt.Fprintln(out, "No row has this name; -list prints the names.")
		return
	}
	heads := []string{"scenario"}
	var ratios []string
	for i, e := range engines {
		heads = append(heads, e.Name)
		if i > 0 {
			ratios = append(ratios, e.Name+" : "+engines[0].Name+", engine / total")
		}
	}
	heads = append(append(heads, ratios...), "calls", "wall s")
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, l := range lines {
		fmt.Fprintln(out, l.cells(engines))
	}
}
