package funcs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty/function"
)

// A message may quote text of the user, but no sensitive or ephemeral text. So no function formats an argument into a
// message itself. It calls the methods quote or show, which replace a secret argument by a placeholder. It passes
// errors of libraries to the method because, which hides the text of an error if any argument is secret.

// bad returns the error for a mistake in argument i.
func bad(i int, format string, a ...any) error {
	return function.NewArgErrorf(i, format, a...)
}

// secret returns "sensitive" or "ephemeral" if argument i has that mark, so that messages must not show it, and
// otherwise "". An argument that is too large to be searched for marks counts as sensitive.
func (c *call) secret(i int) string {
	if i >= len(c.given) || c.given[i].Type().IsCapsuleType() {
		return ""
	}
	v := c.given[i]
	s, all := c.look(v)
	switch {
	case !all:
		return mark.Sensitive.String()
	case !s.Marked:
		return ""
	case mark.Is(v, mark.Ephemeral), !v.Type().IsPrimitiveType() && mark.Anywhere(v, mark.Ephemeral):
		return mark.Ephemeral.String()
	}
	return mark.Sensitive.String()
}

// anySecret returns the result of secret for the first secret argument of the call, or "".
func (c *call) anySecret() string {
	for i := range c.given {
		if s := c.secret(i); s != "" {
			return s
		}
	}
	return ""
}

// show returns text, which is a part of argument i, for messages, shortened to 200 bytes. If the argument is secret, it
// returns a placeholder.
func (c *call) show(i int, text any) string {
	if s := c.secret(i); s != "" {
		return "(" + s + " value)"
	}
	return short(fmt.Sprint(text), 200)
}

// quote returns text, which is a part of argument i, in quotation marks and shortened to 200 bytes. If the argument is
// secret, it returns a placeholder.
func (c *call) quote(i int, text string) string {
	if c.secret(i) != "" {
		return c.show(i, text)
	}
	return strconv.Quote(short(text, 200))
}

// short returns text for messages. If text is longer than most bytes, it returns the first most bytes and "...". It
// removes an incomplete character at the end.
func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// because converts an error of a library, which may quote any argument, to an error for the user. If any argument is
// secret, it hides the text of the error. It returns nil for nil.
func (c *call) because(err error) error {
	if err == nil {
		return nil
	}
	s := c.anySecret()
	if s == "" {
		return clean(err)
	}
	hidden := fmt.Errorf("the reason is not shown, because it could reveal a value that is %s", s)
	if i, ok := argIndex(err); ok {
		return function.NewArgError(i, hidden)
	}
	return hidden
}

// badBecause converts err, which a mistake in argument i has caused, to an error for the user. If argument i is secret,
// it hides the text of the error. It returns nil for nil.
func (c *call) badBecause(i int, err error) error {
	if err == nil {
		return nil
	}
	if s := c.secret(i); s != "" {
		return bad(i, "the reason is not shown, because it could reveal a value that is %s", s)
	}
	return clean(function.NewArgError(i, err))
}

func argIndex(err error) (int, bool) {
	var arg function.ArgError
	if errors.As(err, &arg) {
		return arg.Index, true
	}
	return 0, false
}

// clean converts an error of a library. For a panic in the library, it returns an error without the stack trace. It
// shortens long errors.
func clean(err error) error {
	const most = 1000
	var p function.PanicError
	if errors.As(err, &p) {
		return fmt.Errorf("cannot work with these arguments: %s", short(fmt.Sprint(p.Value), most))
	}
	if text := err.Error(); len(text) > most {
		hidden := errors.New(short(text, most))
		if i, ok := argIndex(err); ok {
			return function.NewArgError(i, hidden)
		}
		return hidden
	}
	return err
}

// tooMuch returns the error for an argument or a result that exceeds a limit.
func tooMuch(what string, limit any) error {
	return fmt.Errorf("%s; the limit for one call is %v", what, limit)
}

func (c *call) tooMany() error {
	return tooMuch("too many elements", c.limits.Elements)
}

func (c *call) tooLong() error {
	return tooMuch("too many bytes", c.limits.Bytes)
}

// fits returns an error if the size of a string exceeds the limit. The string consists of the given number of bytes,
// and of the given number of pieces, each of size bytes.
func (c *call) fits(bytes, pieces, size int) error {
	space := c.limits.Bytes - int64(bytes)
	if space < 0 || size > 0 && int64(pieces) > space/int64(size) {
		return c.tooLong()
	}
	return nil
}

// elsewhere maps names of functions in other languages to the names of the corresponding functions in this language.
var elsewhere = map[string]string{
	"len": "length", "size": "length", "count": "length", "strlen": "length", "str": "tostring", "string": "tostring", "int": "tonumber", "number": "tonumber",
	"float": "tonumber", "bool": "tobool", "array": "tolist", "dict": "tomap", "object": "tomap", "tolower": "lower", "lowercase": "lower", "downcase": "lower",
	"toupper": "upper", "uppercase": "upper", "upcase": "upper", "capitalize": "title", "substring": "substr", "sprintf": "format", "printf": "format", "append": "concat", "concatenate": "concat",
	"push": "concat", "unique": "distinct", "uniq": "distinct", "includes": "contains", "has": "contains", "in": "contains", "get": "lookup", "now": "timestamp",
	"nvl": "coalesce", "ifnull": "coalesce", "default": "coalesce", "truncate": "floor", "glob": "fileset", "readfile": "file", "sqrt": "pow",
}

func meant(name string, functions []string) string {
	if name == "if" {
		return " To choose between two values, write CONDITION ? VALUE : OTHER."
	}
	guess := strings.ReplaceAll(strings.ToLower(name), "_", "")
	if !slices.Contains(functions, guess) {
		guess = cmp.Or(elsewhere[guess], diag.Suggest(name, functions))
	}
	if guess == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q?", guess)
}
