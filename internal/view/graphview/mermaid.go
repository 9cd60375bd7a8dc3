package graphview

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of Mermaid, which refuses larger flowcharts.
const (
	mermaidText  = 50_000 // the maximum number of characters
	mermaidEdges = 500
)

// Mermaid returns a drawing as a flowchart. It folds modules until the flowchart is within the limits of Mermaid, and if
// that is not enough, the resources of each type. It returns false if even that flowchart exceeds the limits.
func Mermaid(d *Drawing) (string, bool) {
	text := ""
	fits := func(d *Drawing) bool {
		text = flowchart(d)
		return len(d.Edges) <= mermaidEdges && len(text) <= mermaidText // bytes are counted, and a text never has fewer bytes than characters
	}
	folded, ok := d.FoldTo(fits)
	return text, ok || fits(folded.FoldTypes())
}

func flowchart(d *Drawing) string {
	var b strings.Builder
	b.WriteString("flowchart RL\n")
	var open []string // the modules that contain the current line
	modules := 0
	enter := func(path []string) {
		same := 0
		for same < len(open) && same < len(path) && open[same] == path[same] {
			same++
		}
		for n := len(open); n > same; n-- {
			fmt.Fprintf(&b, "%send\n", strings.Repeat("  ", n))
		}
		for n := same; n < len(path); n++ {
			fmt.Fprintf(&b, "%ssubgraph m%d[%s]\n", strings.Repeat("  ", n+1), modules, quoted(path[n]))
			modules++
		}
		open = slices.Clone(path)
	}
	for i, n := range d.Nodes {
		enter(n.Module)
		label := n.Label
		if n.Folded > 0 {
			label += fmt.Sprintf(" (%d folded)", n.Folded)
		}
		fmt.Fprintf(&b, "%sn%d[%s]\n", strings.Repeat("  ", len(n.Module)+1), i, quoted(label))
	}
	enter(nil)
	for _, e := range d.Edges {
		fmt.Fprintf(&b, "  n%d --> n%d\n", e[0], e[1])
	}
	return b.String()
}

// quoted returns a text in quotes. Mermaid has entities in place of backslashes.
func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, "#quot;") + `"` }
