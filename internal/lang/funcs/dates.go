package funcs

import (
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// dates has the functions about times. Times are strings in the format of RFC 3339.
var dates = []*builtin{
	fixed("formatdate", "Converts a time to another format.", cty.String, library(stdlib.FormatDateFunc),
		text("format", "The format, such as YYYY-MM-DD hh:mm:ss ZZZ. Literal letters are in single quotes."),
		text("time", "The time.")),
	{
		name: "plantimestamp", doc: "Returns the time of the plan. All calls return the same time, also during apply.",
		returns: cty.String, world: true, run: planTimestamp,
	},
	fixed("timeadd", "Adds a duration to a time.", cty.String, library(stdlib.TimeAddFunc),
		text("timestamp", "The time."),
		text("duration", "The duration, as in 1h30m or -10s.")),
	fixed("timecmp", "Compares two times: -1 if the first is earlier, 1 if it is later, 0 if they are equal.", cty.Number, timeCompare,
		text("timestamp_a", "The first time."),
		text("timestamp_b", "The second time.")),
	{
		name: "timestamp", doc: "Returns the time of the call during apply. During plan, the result is unknown.",
		returns: cty.String, impure: true, timed: true,
		run: func(c *call) (cty.Value, error) {
			if c.env.Now.IsZero() {
				return timeValue(time.Now()), nil
			}
			return timeValue(c.env.Now), nil
		},
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
			// The parser of cty is stricter than package time, and its errors describe the mistake in plain words.
			if _, plain := stdlib.FormatDate(cty.StringVal(""), c.args[i]); plain != nil {
				err = plain
			}
			return cty.NilVal, c.badBecause(i, err)
		}
		at[i] = t
	}
	return cty.NumberIntVal(int64(at[0].Compare(at[1]))), nil
}
