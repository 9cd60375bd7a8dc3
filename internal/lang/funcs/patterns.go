package funcs

import (
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// patterns has the functions about regular expressions. The syntax is RE2, which matches every pattern in linear time.
var patterns = []*builtin{
	{
		name: "regex", doc: "Finds the first match of a regular expression in a string, and returns the matched text: " +
			"a string, a list if the pattern has groups, or an object if the groups have names.",
		params: []param{
			{name: "pattern", typ: cty.String, doc: "The regular expression, in RE2 syntax."},
			{name: "string", typ: cty.String, doc: "The string to search."},
		},
		returns: cty.DynamicPseudoType, kind: matchType, run: library(stdlib.RegexFunc),
	},
	{
		name: "regexall", doc: "Finds all matches of a regular expression in a string, and returns a list of the results of regex for each.",
		params: []param{
			{name: "pattern", typ: cty.String, doc: "The regular expression, in RE2 syntax."},
			{name: "string", typ: cty.String, doc: "The string to search."},
		},
		returns: cty.List(cty.DynamicPseudoType), kind: libraryType(stdlib.RegexAllFunc), run: regexAll,
	},
	fixed("replace", "Replaces each occurrence of a string in another.", cty.String, replace,
		text("str", "The string to change."),
		text("substr", "The string to replace, or a regular expression in RE2 syntax between two slashes."),
		text("replace", "The replacement. For a regular expression, $1 or ${name} are its groups.")),
}

// matchType returns the type of one match of the pattern. It returns an error for a wrong pattern even if the string is
// unknown. If the pattern is unknown, the type is unknown.
func matchType(c *call) (cty.Type, error) {
	if !c.args[0].IsKnown() {
		return cty.DynamicPseudoType, nil
	}
	return libraryType(stdlib.RegexFunc)(c)
}

// regexAll finds all matches with the regexall of cty. It returns an error if there are too many matches.
func regexAll(c *call) (cty.Value, error) {
	if re, err := regexp.Compile(c.args[0].AsString()); err == nil {
		if _, err := c.matches(re, c.args[1].AsString()); err != nil {
			return cty.NilVal, err
		}
	}
	return library(stdlib.RegexAllFunc)(c)
}

// matches returns the positions of all matches in the form of FindAllStringSubmatchIndex of package regexp. It returns
// an error if the matches and their groups are more than the limit of elements.
func (c *call) matches(re *regexp.Regexp, str string) ([][]int, error) {
	most := c.limits.Elements / (re.NumSubexp() + 1)
	found := re.FindAllStringSubmatchIndex(str, most+1)
	if len(found) > most {
		return nil, c.tooMany()
	}
	return found, nil
}

func replace(c *call) (cty.Value, error) {
	str, what, with := c.args[0].AsString(), c.args[1].AsString(), c.args[2].AsString()
	if len(what) > 1 && strings.HasPrefix(what, "/") && strings.HasSuffix(what, "/") {
		return c.replaceMatches(str, what[1:len(what)-1], with)
	}
	if err := c.fits(len(str), strings.Count(str, what), len(with)); err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(strings.ReplaceAll(str, what, with)), nil
}

// replaceMatches replaces all matches as ReplaceAllString of package regexp does. It returns an error if the result
// exceeds the limits: `$0$0$0` makes each match three times as long.
func (c *call) replaceMatches(str, pattern, with string) (cty.Value, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	found, err := c.matches(re, str)
	if err != nil {
		return cty.NilVal, err
	}
	out := make([]byte, 0, len(str)+len(with))
	end := 0
	for _, at := range found {
		out = append(out, str[end:at[0]]...)
		if int64(strings.Count(with, "$")+1)*int64(at[1]-at[0])+int64(len(with)+len(out)) > c.limits.Bytes {
			return cty.NilVal, c.tooLong()
		}
		out = re.ExpandString(out, with, str, at)
		end = at[1]
	}
	return cty.StringVal(string(append(out, str[end:]...))), nil
}
