package funcs

import (
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Times are strings as RFC 3339 writes them.
var dates = []*builtin{
	{
		name: "formatdate", doc: "Writes a time in another form.",
		params: []param{
			{name: "format", typ: cty.String, doc: "The form, as in YYYY-MM-DD hh:mm:ss ZZZ. Letters that stand for themselves are put in single quotes."},
			{name: "time", typ: cty.String, doc: "The time."},
		},
		returns: cty.String, run: library(stdlib.FormatDateFunc),
	},
	{
		name: "plantimestamp", doc: "Gives the time of the plan: one and the same wherever it is called, at apply too.",
		returns: cty.String, world: true, run: planTimestamp,
	},
	{
		name: "timeadd", doc: "Adds a duration to a time.",
		params: []param{
			{name: "timestamp", typ: cty.String, doc: "The time."},
			{name: "duration", typ: cty.String, doc: "The duration, as in 1h30m or -10s."},
		},
		returns: cty.String, run: library(stdlib.TimeAddFunc),
	},
	{
		name: "timecmp", doc: "Compares two times: -1 if the first is earlier, 1 if it is later, 0 if they are one instant.",
		params: []param{
			{name: "timestamp_a", typ: cty.String, doc: "The first time."},
			{name: "timestamp_b", typ: cty.String, doc: "The second time."},
		},
		returns: cty.Number, run: timeCompare,
	},
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
		// The library's own parser is strict where package time is not, and says in plain words what is
		// wrong.
		if _, err := stdlib.FormatDate(cty.StringVal(""), c.args[i]); err != nil {
			return cty.NilVal, c.badBecause(i, err)
		}
		t, err := time.Parse(time.RFC3339, c.args[i].AsString())
		if err != nil {
			return cty.NilVal, c.badBecause(i, err)
		}
		at[i] = t
	}
	return cty.NumberIntVal(int64(at[0].Compare(at[1]))), nil
}
