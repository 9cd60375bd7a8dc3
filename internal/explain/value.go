package explain

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/schema"
)

// Inputs are the configuration and further facts for an explanation.
type Inputs struct {
	Program *program.Program
	// Given returns the source of the value of a root variable, such as "prod.tfvars". It returns "" if only its default
	// sets it. nil: no sources are known.
	Given  func(variable string) string
	Review *review.Review // the review of a plan; nil without a plan
	Leases []plan.Lease   // the ephemeral resources that the apply of the plan opens, with their receivers
}

// Value explains a declaration, or a part of it.
type Value struct {
	Address   string
	Kind      string // a noun for the text, such as "local value"
	At        diag.Range
	Facts     []string  // the properties of the attribute, as the function Facts returns them; nil for other values
	From      *Source   // the source of the value, with its sources
	Sensitive []Reason  // why the value is sensitive; nil if it is not
	Ephemeral []Reason  // why the value is ephemeral; nil if it is not
	Unknown   []Reason  // why the value is known only after apply; nil if no reason is known
	Users     []User    // the declarations that use the value directly
	Effects   []Effect  // the consequences of a change of the value
	Planned   []Planned // the changes in the plan to the declaration and to what its change affects; nil without a plan
	Lease     *Lease    // only for an ephemeral resource: when it is opened and closed
}

// Source is a name from which a value comes.
type Source struct {
	Name string
	At   diag.Range // where the value is set, or else the declaration
	How  string     // how the value is set, if it does not come from the sources in From; "" otherwise
	From []*Source

	// The mark of the value reaches the value that is made from it: no function removes the mark.
	sensitive, ephemeral bool

	of    *program.Declaration
	path  []string
	attrs []*schema.Attr // the attributes on the path; empty for other values
	parts []program.Part // the texts that set the value
}

// Reason is one reason why a value is sensitive, ephemeral or unknown.
type Reason struct {
	Text string // a sentence
	At   diag.Range
}

// Planned is a planned change of an object whose attribute is explained: the action and the reasons for it.
type Planned struct {
	Address string
	Action  plan.Action
	Reasons []string
}

// Effect is the consequence of a change of a value for one object, provider, condition or root output.
type Effect struct {
	Address string // the address of the consequence, with the path of the argument
	At      diag.Range
	Text    string // the end of a sentence after the address, such as "is read again"
	// Receives is true if the address receives the value. Locals, variables and outputs of modules only pass it on.
	Receives bool

	of *program.Declaration
}

// Lease tells when an ephemeral resource is opened and closed.
type Lease struct {
	Opens, Closes string   // sentences; Closes is "" if it is not opened
	Receivers     []string // the addresses of the declarations that receive its value
	FromPlan      bool     // the receivers come from a plan; false: from the configuration
}

// Limits of the sources of one value.
const (
	mostDepth   = 16  // maximum number of sources in a chain
	mostSources = 400 // maximum number of sources, and of effects
)

// kindOf returns the kind of a declaration or of a part of it, such as "root variable" or "part of a local value". It
// returns "" for a provider configuration and for a check.
func kindOf(f Found) string {
	kind := map[program.Kind]string{program.Variable: "variable", program.Local: "local value", program.Output: "output", program.Call: "module call"}[f.Kind]
	switch {
	case f.Kind == program.Resource:
		_, kind = textsOf(f.Resource.Mode)
		if len(f.Path) > 0 {
			return "attribute of " + article(kind)
		}
	case len(f.Path) > 0:
		return "part of " + article(kind)
	case f.Kind == program.Variable && f.Module.IsRoot():
		return "root variable"
	case f.Kind == program.Output && f.Module.IsRoot():
		return "root output"
	case f.Kind == program.Output, f.Kind == program.Variable:
		return kind + " of a module"
	}
	return kind
}

func article(noun string) string {
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// explainer explains one value.
type explainer struct {
	Inputs
	found Found
	users *users
	left  int // the number of sources that may still be added
}

// source returns a source with the given name, and with the sources of its value. depth is the number of sources
// between this source and the value that is explained.
func (x *explainer) source(name string, d *program.Declaration, path []string, depth int) *Source {
	s := &Source{Name: name, At: d.Range, of: d, path: path}
	if d.Kind == program.Resource {
		s.attrs = x.attributes(d, path)
	}
	if d.Kind == program.Resource && len(path) == 0 {
		s.How = "all attributes of the object"
		if depth > 0 {
			return s
		}
		s.How = ""
	}
	s.parts = program.Parts(x.Program, d.ID, path)
	switch {
	case len(s.parts) > 0:
		if len(path) > 0 || d.Kind == program.Local || d.Kind == program.Output {
			s.At = s.parts[0].At
		}
		if s.How = constant(s.parts); d.Kind == program.Variable {
			s.How = "set by the call of the module at " + place(s.parts[0].At)
		}
	case d.Kind == program.Variable:
		s.How = x.given(d)
	case d.Kind == program.Resource && len(path) > 0:
		s.How = x.unset(d, s.attrs)
	case d.Kind == program.Call:
		s.How = "all outputs of the module"
	}
	for _, part := range s.parts {
		for _, n := range part.Names {
			to := x.Program.Decls()[n.To]
			x.follow(s, written(n, to), to, pathIn(n, to), depth)
			s.marked(written(n, to), !part.Unmarks("nonsensitive", n), !part.Unmarks("ephemeralasnull", n))
		}
	}
	if d.Kind == program.Call {
		for _, to := range outputsOf(x.Program, d) {
			x.follow(s, Name(to), to, nil, depth)
			s.marked(Name(to), true, true)
		}
	}
	return s
}

// follow adds a source to s, unless a limit is reached.
func (x *explainer) follow(s *Source, name string, d *program.Declaration, path []string, depth int) {
	if x.left--; x.left >= 0 && depth <= mostDepth {
		s.add(x.source(name, d, path, depth+1))
	}
}

// constant describes texts that refer to no other value. It returns "" if one does.
func constant(parts []program.Part) string {
	for _, part := range parts {
		if len(part.Names) > 0 {
			return ""
		}
	}
	return "the configuration sets it, without other values"
}

// outputsOf returns the outputs of a called module.
func outputsOf(p *program.Program, call *program.Declaration) []*program.Declaration {
	var out []*program.Declaration
	for _, d := range p.Decls() {
		if d.Kind == program.Output && d.Module == call.Module.Child(call.Name) {
			out = append(out, d)
		}
	}
	return out
}

// add adds a source, unless s already has a source with that name.
func (s *Source) add(from *Source) {
	for _, have := range s.From {
		if have.Name == from.Name {
			return
		}
	}
	s.From = append(s.From, from)
}

// marked records that the marks of the source with a name reach the value.
func (s *Source) marked(name string, sensitive, ephemeral bool) {
	for _, from := range s.From {
		if from.Name == name {
			from.sensitive, from.ephemeral = from.sensitive || sensitive, from.ephemeral || ephemeral
		}
	}
}

// written returns the address that a reference reads.
func written(n program.Name, to *program.Declaration) string {
	return Name(to) + Written(pathIn(n, to))
}

// attributes returns the attributes on a path below a resource, as along returns them.
func (x *explainer) attributes(d *program.Declaration, path []string) []*schema.Attr {
	s := x.Program.Schema(d.ID)
	if s == nil {
		return nil
	}
	on, _, _ := along(s.Block, path)
	return on
}

// given returns how a root variable gets its value.
func (x *explainer) given(d *program.Declaration) string {
	from := ""
	if x.Given != nil {
		from = x.Given(d.Name)
	}
	switch {
	case from != "":
		return "given by " + from
	case d.Var != nil && d.Var.DefaultRange.Filename != "":
		return "its default at " + place(d.Var.DefaultRange)
	}
	return "each run must set it"
}

// unset returns how an attribute gets its value if no text sets it.
func (x *explainer) unset(d *program.Declaration, attrs []*schema.Attr) string {
	by := "the provider"
	if to := x.Program.ProviderOf(d.ID); to != program.NoDecl {
		by += " " + x.Program.Decls()[to].Provider.Provider.ForDisplay()
	}
	switch {
	case len(attrs) == 0:
		return ""
	case d.Resource.Mode == addr.Data:
		return by + " reads it"
	case d.Resource.Mode == addr.Ephemeral:
		return by + " returns it when it opens the lease"
	case attrs[0].Computed:
		return by + " computes it"
	}
	return "not set, so it is null"
}
