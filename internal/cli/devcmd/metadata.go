package devcmd

import (
	"context"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// Metadata is the command `metadata functions`.
var Metadata = &base.Command{
	Name: "metadata functions", Short: "Show signatures and descriptions for the available functions",
	Long: "Prints out a json representation of the available function signatures.",
	Examples: [][2]string{
		{"lethe metadata functions -json", "Print all functions as JSON"},
	},
	Setup: jsonOnly(runMetadata),
}

func runMetadata(_ context.Context, c *base.Call) int {
	if !c.ForPrograms() {
		c.Bag.Add(diag.Errorf("The `-json` flag is required", "Function signatures are only printed as JSON: lethe metadata functions -json."))
		return c.UI.Fail()
	}
	if _, err := c.Document(jsondoc.WriteFunctions); err != nil {
		return base.ExitError
	}
	return c.UI.DoneDocument()
}
