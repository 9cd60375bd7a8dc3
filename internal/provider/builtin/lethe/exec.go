package lethe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// exec returns the ephemeral type lethe_exec: a lease (an open ephemeral resource) that a program issues. Each command
// receives a JSON object on its standard input:
//
//	action   "open", "renew" or "close"
//	input    the argument input
//	result   the output of open; null during open
//	renewed  the last valid output of renew; null if no renewal had output
//
// Empty output is null, except in the format "text". The output of open is the result of the ephemeral resource. A
// command with an exit status other than 0 has failed. A failed open command has usually opened nothing. An open
// command that was interrupted, exceeded its time limit or had invalid output may have opened a lease, so close is
// called with a null result.
func (p *Provider) exec() *builtin.Ephemeral {
	command := cty.List(cty.String)
	return &builtin.Ephemeral{
		Schema: describe("A lease that commands open, renew and close. Values are passed through standard input and output, never in arguments or the environment.",
			schema.Required("open", command, "The command that opens the lease and prints its result: a program and its arguments. All users of the machine can see the arguments."),
			schema.Optional("renew", command, "The command that renews it."),
			schema.Optional("close", command, "The command that closes it."),
			schema.Optional("input", cty.DynamicPseudoType, "The input of the commands."),
			schema.Optional("format", cty.String, `The format of the output of open: "json" (the default), or "text" without the last line end.`),
			schema.Optional("renew_after", cty.String, `The time between renewals, such as "10m".`),
			schema.Optional("timeout", cty.String, `The time limit of each command; default: "1m".`),
			schema.Optional("working_dir", cty.String, "The directory of the commands; default: the working directory."),
			computed("result", cty.DynamicPseudoType, "What open printed."),
		),
		Validate: validateExec,
		Open:     p.openExec,
		Renew:    p.renewExec,
		Close:    p.closeExec,
	}
}

func validateExec(config cty.Value) (ds provider.Diags) {
	const summary = "Invalid lethe_exec"
	for _, name := range []string{"open", "renew", "close"} {
		if list, known := schema.Texts(config, name); known && !config.GetAttr(name).IsNull() && (len(list) == 0 || list[0] == "") {
			ds = append(ds, refused(name, summary, "%s must be a list whose first element is a program.", name))
		}
	}
	for _, name := range []string{"renew_after", "timeout"} {
		if _, ok := duration(config, name, 0); !ok {
			ds = append(ds, badDuration(name))
		}
	}
	if f := schema.Text(config, "format"); f != "" && f != "json" && f != "text" {
		ds = append(ds, refused("format", summary, `format must be "json" or "text".`))
	}
	renew, after := config.GetAttr("renew"), config.GetAttr("renew_after")
	switch {
	case !renew.IsKnown() || !after.IsKnown() || renew.IsNull() == after.IsNull():
	case after.IsNull():
		ds = append(ds, refused("renew", summary, "With renew, set renew_after as well."))
	default:
		ds = append(ds, refused("renew_after", summary, "With renew_after, set renew as well."))
	}
	return ds
}

// held is the private data of a lease. It has everything that is needed to renew and close the lease, and is not stored
// in states and plans.
type held struct {
	Renew, Close []string
	Dir, Format  string
	Bytes        []byte `json:",omitempty"` // replaces Dir if the directory is not valid UTF-8, because JSON strings must be
	Timeout      time.Duration
	After        time.Duration // 0 means that the lease is not renewed
	Input        json.RawMessage
	Result       json.RawMessage
	Renewed      json.RawMessage
}

func (p *Provider) openExec(ctx context.Context, config cty.Value) (builtin.Lease, provider.Diags) {
	h, ds := p.readHeld(config)
	if ds.HasErrors() {
		return builtin.Lease{}, ds
	}
	open, _ := schema.Texts(config, "open")
	out, err := p.run(ctx, h.command("open", open))
	if err != nil {
		var e *commandError
		if errors.As(err, &e) && e.unsure {
			return builtin.Lease{Private: h.private()}, fails(failure("open", err))
		}
		return builtin.Lease{}, fails(failure("open", err))
	}
	if h.Result = resultOf(out, h.Format); h.Result == nil {
		return builtin.Lease{Private: h.private()}, fails(unusable(out))
	}
	result, err := decodeJSON(h.Result)
	if err != nil {
		h.Result = nil
		return builtin.Lease{Private: h.private()}, fails(unusable(out))
	}
	all := config.AsValueMap()
	all["result"] = result
	return builtin.Lease{Result: cty.ObjectVal(all), Private: h.private(), RenewAt: p.renewAt(h)}, nil
}

func (p *Provider) renewExec(ctx context.Context, private []byte) ([]byte, time.Time, provider.Diags) {
	h, ok := readPrivate(private)
	if !ok || h.Renew == nil {
		return private, time.Time{}, nil
	}
	out, err := p.run(ctx, h.command("renew", h.Renew))
	if err != nil {
		return private, time.Time{}, fails(failure("renew", err))
	}
	if input := resultOf(out, h.Format); input != nil {
		h.Renewed = input
	}
	return h.private(), p.renewAt(h), nil
}

// closeExec closes a lease with its close command. A call of Stop does not interrupt the command.
func (p *Provider) closeExec(ctx context.Context, private []byte) provider.Diags {
	h, ok := readPrivate(private)
	if !ok || h.Close == nil {
		return nil
	}
	if _, err := h.command("close", h.Close).run(ctx, p.environment()); err != nil {
		return fails(failure("close", err))
	}
	return nil
}

// run runs a command. A call of Stop interrupts the command, and the end of ctx kills it.
func (p *Provider) run(ctx context.Context, c *command) ([]byte, error) {
	c.killed = ctx
	ctx, done := p.until(ctx)
	defer done()
	return c.run(ctx, p.environment())
}

func (p *Provider) renewAt(h *held) time.Time {
	if h.After == 0 {
		return time.Time{}
	}
	return p.o.Now().Add(h.After)
}

// readHeld validates a configuration, and returns the private data of its lease. If the configuration is invalid, it
// returns nil and the errors.
func (p *Provider) readHeld(config cty.Value) (*held, provider.Diags) {
	if ds := validateExec(config); ds.HasErrors() {
		return nil, ds
	}
	h := &held{Dir: p.path(schema.Text(config, "working_dir")), Format: schema.Text(config, "format")}
	h.Renew, _ = schema.Texts(config, "renew")
	h.Close, _ = schema.Texts(config, "close")
	h.Timeout, _ = duration(config, "timeout", time.Minute)
	h.After, _ = duration(config, "renew_after", 0)
	var err error
	if h.Input, err = (ctyjson.SimpleJSONValue{Value: config.GetAttr("input")}).MarshalJSON(); err != nil {
		return nil, fails(refused("input", "Invalid lethe_exec", "The input cannot be written as JSON."))
	}
	return h, nil
}

// private encodes the private data. It returns nil if the lease is neither renewed nor closed.
func (h *held) private() []byte {
	if h.Renew == nil && h.Close == nil {
		return nil
	}
	if !utf8.ValidString(h.Dir) {
		h.Bytes = []byte(h.Dir)
	}
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // its JSON members were valid JSON before
	}
	return b
}

func readPrivate(private []byte) (*held, bool) {
	h := &held{}
	ok := len(private) > 0 && json.Unmarshal(private, h) == nil
	if h.Bytes != nil {
		h.Dir = string(h.Bytes)
	}
	return h, ok
}

// command returns a command with its input for standard input.
func (h *held) command(action string, args []string) *command {
	reply := struct {
		Action  string          `json:"action"`
		Input   json.RawMessage `json:"input"`
		Result  json.RawMessage `json:"result"`
		Renewed json.RawMessage `json:"renewed"`
	}{action, h.Input, h.Result, h.Renewed}
	stdin, err := json.Marshal(reply)
	if err != nil {
		panic(err) // its JSON members were valid JSON before
	}
	return &command{args: args, dir: h.Dir, limit: h.Timeout, stdin: append(stdin, '\n'), secrets: []json.RawMessage{h.Input, h.Result, h.Renewed}}
}

// failure returns the diagnostic about the failed command with this name: "open", "renew" or "close". It has the masked
// standard error of the program.
func failure(name string, err error) diag.Diagnostic {
	detail := fmt.Sprintf("The %s command failed: %s.", name, err)
	var e *commandError
	if errors.As(err, &e) && e.stderr != "" {
		detail += " It wrote to its standard error:\n\n" + e.stderr
	}
	return refused(name, "Program failed", "%s", detail)
}
