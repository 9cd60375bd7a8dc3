package layers

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write docs/packages.svg")

// TestPicture checks that docs/packages.svg is drawn from the tables of this test, so that it cannot differ from them.
func TestPicture(t *testing.T) {
	const path = "../../docs/packages.svg"
	want := picture()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
		t.Errorf("the picture is not that of the layers (%v): go test ./internal/layers -run TestPicture -update", err)
	}
}

// The sizes in the picture, in pixels.
const (
	charWidth = 8  // width of a letter
	boxHeight = 30 // height of the box of a package
	gap       = 10
	labels    = 26 // width of the column with the numbers of layers
)

// picture draws a row for each layer, the top one first, with a box for each package. If a package has layers inside,
// its box contains them.
func picture() []byte {
	var rows bytes.Buffer
	width, y := 0, gap
	for i, layer := range slices.Backward(layers) {
		high := boxHeight
		for _, name := range layer {
			high = max(high, boxHeight+len(innerLayers[name])*(boxHeight-6))
		}
		fmt.Fprintf(&rows, "<text x=\"%d\" y=\"%d\">%d</text>\n", gap, y+20, i)
		x := labels + gap
		for _, name := range layer {
			wide := len(name)*charWidth + 2*gap
			for _, inner := range innerLayers[name] {
				wide = max(wide, len(label(name, inner))*charWidth+2*gap)
			}
			class := "package"
			if innerLayers[name] != nil {
				class = "layered"
			}
			fmt.Fprintf(&rows, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n", class, x, y, wide, high)
			fmt.Fprintf(&rows, "<text class=\"name\" x=\"%d\" y=\"%d\">%s</text>\n", x+gap, y+20, name)
			at := y + boxHeight
			for _, inner := range slices.Backward(innerLayers[name]) {
				fmt.Fprintf(&rows, "<text class=\"inner\" x=\"%d\" y=\"%d\">%s</text>\n", x+gap, at+14, label(name, inner))
				at += boxHeight - 6
			}
			x += wide + gap
		}
		width = max(width, x)
		y += high + gap
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, y, width, y)
	out.WriteString(`<title>The packages of Lethe in layers</title>
<desc>A package imports packages of lower layers, and those to its left in its own layer.</desc>
<style>
text { font: 13px ui-monospace, monospace; fill: #333 }
.name { font-weight: bold; fill: #111 }
.inner { font-size: 12px }
.package { fill: #eef3fb; stroke: #7d95b8 }
.layered { fill: #f7f1e3; stroke: #b39b62 }
</style>
<rect width="100%" height="100%" fill="#fff"/>
`)
	out.Write(rows.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// label returns the text for one layer inside a package: the names of the packages in the layer.
func label(of string, names []string) string {
	text := ""
	for _, n := range names {
		if n == "" {
			n = of
		}
		text += n + " "
	}
	return text[:len(text)-1]
}
