package raw

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A deedFunc does one thing wrong. Its error becomes the error of the RPC.
type deedFunc func(ctx context.Context, sc *scene, arg string) error

// early has the deeds before the work of the call. Each of them is also a late deed, with the prefix "after-": then the
// work is done, and the answer is lost.
var early = map[string]deedFunc{}

// late has the deeds that change the answer.
var late = map[string]deedFunc{}

func init() {
	for name, f := range lethal {
		early[name], late["after-"+name] = f, f
	}
	for _, group := range []map[string]deedFunc{shapes, contents, leaks, manners, storeDeeds} {
		for name, f := range group {
			late[name] = f
		}
	}
}

// lethal has the deeds that end the call or the provider.
var lethal = map[string]deedFunc{
	"panic": func(_ context.Context, sc *scene, arg string) error {
		panic("misbehaving in " + sc.names[0] + " " + arg + withSecret(sc, arg))
	},
	"exit": func(_ context.Context, _ *scene, arg string) error {
		os.Exit(whole(arg, 1))
		return nil
	},
	"kill": func(context.Context, *scene, string) error {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			_ = self.Kill()
		}
		select {} // wait until the signal ends the process
	},
	"hang": func(context.Context, *scene, string) error {
		forever()
		return nil
	},
	// wait hangs until the call is cancelled, or for the time in its argument.
	"wait": func(ctx context.Context, _ *scene, arg string) error {
		var timer <-chan time.Time
		if d, err := time.ParseDuration(arg); err == nil {
			timer = time.After(d)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer:
			return nil
		}
	},
	"error": func(_ context.Context, sc *scene, arg string) error {
		return errors.New("misbehaving in " + sc.names[0] + " " + arg)
	},
}

// withSecret returns the text of a panic, which contains the secret if the argument is "secret".
func withSecret(sc *scene, arg string) string {
	if arg == "secret" {
		return ": " + sc.secret
	}
	return ""
}

// manners has the deeds that change any part of the answer except the value.
var manners = map[string]deedFunc{
	"stdout": func(_ context.Context, _ *scene, arg string) error { return babble(os.Stdout, arg) },
	"stderr": func(_ context.Context, _ *scene, arg string) error { return babble(os.Stderr, arg) },

	"warning": func(_ context.Context, sc *scene, arg string) error {
		return sc.complain(tfprotov6.DiagnosticSeverityWarning, "A warning was asked for", unquote(arg), nil)
	},
	"diag": func(_ context.Context, sc *scene, arg string) error {
		return sc.complain(tfprotov6.DiagnosticSeverityError, "An error was asked for", unquote(arg), nil)
	},
	"diag-at": func(_ context.Context, sc *scene, arg string) error {
		return sc.complain(tfprotov6.DiagnosticSeverityError, "An error was asked for", "It is at "+arg+".", attributePath(arg))
	},
	"diag-big": func(_ context.Context, sc *scene, arg string) error {
		return sc.complain(tfprotov6.DiagnosticSeverityError, "A big error", strings.Repeat("0123456789abcde\n", megabytes(arg)/16), nil)
	},
	"diags": func(_ context.Context, sc *scene, arg string) error {
		for i := range whole(arg, 100) {
			if err := sc.complain(tfprotov6.DiagnosticSeverityError, "Error number "+strconv.Itoa(i), "One of many.", nil); err != nil {
				return err
			}
		}
		return nil
	},

	"defer": func(_ context.Context, sc *scene, arg string) error {
		if sc.deferred == nil {
			return sc.cannot("be deferred")
		}
		*sc.deferred = &tfprotov6.Deferred{Reason: tfprotov6.DeferredReason(whole(arg, 1))}
		return nil
	},
	"replace": func(_ context.Context, sc *scene, arg string) error {
		a, ok := sc.rest.(*tfprotov6.PlanResourceChangeResponse)
		if !ok {
			return sc.cannot("require replacement")
		}
		for path := range strings.SplitSeq(arg, ",") {
			a.RequiresReplace = append(a.RequiresReplace, attributePath(path))
		}
		return nil
	},
	"legacy": func(_ context.Context, sc *scene, _ string) error {
		switch a := sc.rest.(type) {
		case *tfprotov6.PlanResourceChangeResponse:
			//lint:ignore SA1019 a provider that misbehaves uses what no provider should
			a.UnsafeToUseLegacyTypeSystem = true
		case *tfprotov6.ApplyResourceChangeResponse:
			//lint:ignore SA1019 a provider that misbehaves uses what no provider should
			a.UnsafeToUseLegacyTypeSystem = true
		default:
			return sc.cannot("claim the legacy type system")
		}
		return nil
	},
	"private": func(_ context.Context, sc *scene, arg string) error {
		if sc.private == nil {
			return sc.cannot("have private data")
		}
		*sc.private = bytes.Repeat([]byte("p"), whole(arg, 0))
		return nil
	},
	"renew": func(_ context.Context, sc *scene, arg string) error {
		d, err := time.ParseDuration(arg)
		if err != nil {
			return err
		}
		switch a := sc.rest.(type) {
		case *tfprotov6.OpenEphemeralResourceResponse:
			a.RenewAt = time.Now().Add(d)
		case *tfprotov6.RenewEphemeralResourceResponse:
			a.RenewAt = time.Now().Add(d)
		default:
			return sc.cannot("ask for renewal")
		}
		return nil
	},
	"identity": func(_ context.Context, sc *scene, arg string) error { return sc.misidentify(arg) },
	"imports":  func(_ context.Context, sc *scene, arg string) error { return sc.misimport(arg) },
	"func-error": func(_ context.Context, sc *scene, arg string) error {
		a, ok := sc.rest.(*tfprotov6.CallFunctionResponse)
		if !ok {
			return sc.cannot("be a function error")
		}
		n := int64(whole(arg, 0))
		a.Error, a.Result = &tfprotov6.FunctionError{Text: "refused on demand", FunctionArgument: &n}, nil
		return nil
	},
}

// leaks has the deeds that disclose a secret. Calls without a secret disclose the canary.
var leaks = map[string]deedFunc{
	"leak": func(_ context.Context, sc *scene, arg string) error { return sc.put(arg, sc.secret) },
	"leak-base64": func(_ context.Context, sc *scene, arg string) error {
		return sc.put(arg, base64.StdEncoding.EncodeToString([]byte(sc.secret)))
	},
	"leak-inside": func(_ context.Context, sc *scene, arg string) error {
		return sc.put(arg, "before-"+sc.secret+"-behind")
	},
	// leak-key makes the secret the only key of a map.
	"leak-key": func(_ context.Context, sc *scene, arg string) error { return sc.putKey(arg, sc.secret) },
	"leak-identity": func(_ context.Context, sc *scene, arg string) error {
		packed, err := pack(sc.secret, arg)
		if err != nil {
			return err
		}
		return sc.misidentify(strconv.Quote(packed))
	},
	// leak-private and leak-packed encode the secret in layers, listed from the inside: leak-private:json,base64.
	"leak-private": func(_ context.Context, sc *scene, arg string) error {
		if sc.private == nil {
			return sc.cannot("have private data")
		}
		packed, err := pack(sc.secret, arg)
		*sc.private = []byte(packed)
		return err
	},
	"leak-packed": func(_ context.Context, sc *scene, arg string) error {
		attr, layers, _ := strings.Cut(arg, "=")
		packed, err := pack(sc.secret, layers)
		if err != nil {
			return err
		}
		return sc.put(attr, packed)
	},
	"leak-warning": func(_ context.Context, sc *scene, arg string) error {
		return sc.blab(tfprotov6.DiagnosticSeverityWarning, arg)
	},
	"leak-error": func(_ context.Context, sc *scene, arg string) error {
		return sc.blab(tfprotov6.DiagnosticSeverityError, arg)
	},
	"leak-func-error": func(_ context.Context, sc *scene, arg string) error {
		a, ok := sc.rest.(*tfprotov6.CallFunctionResponse)
		if !ok {
			return sc.cannot("be a function error")
		}
		packed, err := pack(sc.secret, arg)
		a.Error, a.Result = &tfprotov6.FunctionError{Text: "The secret is " + packed + "."}, nil
		return err
	},
	"leak-stderr": func(_ context.Context, sc *scene, _ string) error {
		fmt.Fprintln(os.Stderr, "the secret is "+sc.secret)
		return nil
	},
	"leak-stdout": func(_ context.Context, sc *scene, _ string) error {
		fmt.Fprintln(os.Stdout, "the secret is "+sc.secret)
		return nil
	},
	"leak-log": func(_ context.Context, sc *scene, arg string) error {
		packed, err := pack(sc.secret, arg)
		if err != nil {
			return err
		}
		message, _ := json.Marshal("the secret is " + packed)
		secret, _ := json.Marshal(packed)
		fmt.Fprintf(os.Stderr, "{\"@level\":\"warn\",\"@message\":%s,\"secret\":%s}\n", message, secret)
		time.Sleep(200 * time.Millisecond) // wait, because output that a plugin has just written is lost if the plugin ends at once
		return nil
	},
}

// pack encodes a secret in layers, which are separated by commas and applied in order: json, url, html, hex, base64,
// base64url, gzip. Without layers it returns the secret. Any other layer is an error.
func pack(secret, layers string) (string, error) {
	for layer := range strings.SplitSeq(layers, ",") {
		switch layer {
		case "":
		case "json":
			b, err := json.Marshal(map[string]string{"k": secret})
			if err != nil {
				return "", err
			}
			secret = string(b)
		case "url":
			secret = url.QueryEscape(secret)
		case "html":
			secret = html.EscapeString(secret)
		case "hex":
			secret = hex.EncodeToString([]byte(secret))
		case "base64":
			secret = base64.StdEncoding.EncodeToString([]byte(secret))
		case "base64url":
			secret = base64.RawURLEncoding.EncodeToString([]byte(secret))
		case "gzip":
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			if _, err := w.Write([]byte(secret)); err != nil {
				return "", err
			}
			if err := w.Close(); err != nil {
				return "", err
			}
			secret = b.String()
		default:
			return "", fmt.Errorf("there is no layer %q", layer)
		}
	}
	return secret, nil
}

// blab adds a diagnostic with the secret, encoded in layers, to the answer.
func (sc *scene) blab(severity tfprotov6.DiagnosticSeverity, layers string) error {
	packed, err := pack(sc.secret, layers)
	if err != nil {
		return err
	}
	return sc.complain(severity, "Indiscretion", "The secret is "+packed+".", nil)
}

// complain adds a diagnostic to the answer. The parameter at may be nil. An answer that cannot have diagnostics is an
// error.
func (sc *scene) complain(severity tfprotov6.DiagnosticSeverity, summary, detail string, at *tftypes.AttributePath) error {
	if sc.diags == nil {
		return sc.cannot("have diagnostics")
	}
	*sc.diags = append(*sc.diags, &tfprotov6.Diagnostic{Severity: severity, Summary: summary, Detail: detail, Attribute: at})
	return nil
}

// cannot returns the error for a rule that does not apply to its call.
func (sc *scene) cannot(what string) error {
	return fmt.Errorf("the answer to %s cannot %s", sc.names[0], what)
}

// misidentify changes the identity in the answer: to nil, null, unknown, or for any other argument to another identity.
func (sc *scene) misidentify(how string) error {
	if sc.identity == nil {
		return sc.cannot("have an identity")
	}
	var v any = unquote(how)
	switch how {
	case "nil":
		*sc.identity = nil
		return nil
	case "null":
		v = nil
	case "unknown":
		v = tftypes.UnknownValue
	}
	identity, err := identityOf(v)
	*sc.identity = identity
	return err
}

// misimport makes an import return none, two, or one object of another type.
func (sc *scene) misimport(how string) error {
	a, ok := sc.rest.(*tfprotov6.ImportResourceStateResponse)
	if !ok || len(a.ImportedResources) == 0 {
		return sc.cannot("be an import")
	}
	switch how {
	case "none":
		a.ImportedResources = nil
	case "two":
		a.ImportedResources = append(a.ImportedResources, a.ImportedResources[0])
	default:
		a.ImportedResources[0].TypeName = how
	}
	return nil
}

// babble writes arg and a line feed, after it has decoded arg like unquote. If arg is a number, it writes that many
// megabytes of noise instead.
func babble(to *os.File, arg string) error {
	text := unquote(arg) + "\n"
	if n, err := strconv.Atoi(arg); err == nil {
		text = strings.Repeat(strings.Repeat("noise ", 20)+"\n", n<<20/121+1)
	}
	_, err := to.WriteString(text)
	return err
}

// whole returns the number in arg, or otherwise if arg is no number.
func whole(arg string, otherwise int) int {
	if n, err := strconv.Atoi(arg); err == nil {
		return n
	}
	return otherwise
}

// megabytes converts a number of megabytes to bytes. If arg is no number, it returns one megabyte.
func megabytes(arg string) int { return whole(arg, 1) << 20 }

// unquote decodes an argument in double quotes like Go, so that rules can contain "\x1b[2J" or "\x00". It returns any
// other argument unchanged.
func unquote(arg string) string {
	if s, err := strconv.Unquote(arg); err == nil {
		return s
	}
	return arg
}
