package funcs

import (
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Times are strings as RFC 3339 writes them.
var dates = []*builtin{
	fixed("formatdate", "Writes a time in another form.", cty.String, library(stdlib.FormatDateFunc),
		text("format", "The form, as in YYYY-MM-DD hh:mm:ss ZZZ. Letters that stand for themselves are put in single quotes."),
		text("time", "The time.")),
	{
		name: "plantimestamp", doc: "Gives the time of the plan: one and the same wherever it is called, at apply too.",
		returns: cty.String, world: true, run: planTimestamp,
	},
	fixed("timeadd", "Adds a duration to a time.", cty.String, library(stdlib.TimeAddFunc),
		text("timestamp", "The time."),
		text("duration", "The duration, as in 1h30m or -10s.")),
	fixed("timecmp", "Compares two times: -1 if the first is earlier, 1 if it is later, 0 if they are one instant.", cty.Number, timeCompare,
		text("timestamp_a", "The first time."),
		text("timestamp_b", "The second time.")),
	{
		name: "timestamp", doc: "Gives the time of the call, at apply; while planning it is unknown.",
		returns: cty.String, impure: true,
		run: func(*call) (cty.Value, error) { return timeValue(time.Now()), nil },
	},
}

func timeValue(t time.Time) cty.Value { return cty.StringVal(t.UTC().Format(time.RFC3339)) }

func planTimestamp(c *call) (cty.Value, error) {
	if c.env.PlanTime.IsZero() {
		return cty.UnknownVal(cty.String), nil
	}
	return timeValue(c.env.PlanTime), nil
}

func timeCompare(c *call) (cty.Value, error) {
	var at [2]time.Time
	for i := range at {
		t, err := time.Parse(time.RFC3339, c.args[i].AsString())
		if err != nil {
			// The library's own parser is stricter than package time, and says in plain words what is wrong.
			if _, plain := stdlib.FormatDate(cty.StringVal(""), c.args[i]); plain != nil {
				err = plain
			}
			return cty.NilVal, c.badBecause(i, err)
		}
		at[i] = t
	}
	return cty.NumberIntVal(int64(at[0].Compare(at[1]))), nil
}
