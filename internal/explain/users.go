package explain

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// User is a declaration that uses a value.
type User struct {
	Of   *program.Declaration
	Path []string    // the path of the argument that uses the value; nil if Use has the reason
	Use  program.Use // the reason for the reference; ByValue for an argument
	At   diag.Range
}

// Address returns the address of the user with the path of the argument.
func (u User) Address() string { return Name(u.Of) + Written(u.Path) }

// uses are the reasons for a reference other than its value, with the text for each.
var uses = []struct {
	use  program.Use
	text string
}{
	{program.ByRepeat, "count, for_each or enabled"},
	{program.ByDepends, "depends_on"},
	{program.ByCondition, "a condition"},
	{program.ByTrigger, "replace_triggered_by"},
	{program.ByLifecycle, "lifecycle"},
	{program.ByProvision, "a provisioner or a connection"},
	{program.ByImport, "an import block"},
	{program.ByFunction, "a provider function"},
	{program.ByNull, "ephemeralasnull"},
}

// How returns the part of the user that uses the value, such as "count, for_each or enabled". It returns "" for an
// argument.
func (u User) How() string {
	for _, x := range uses {
		if x.use == u.Use {
			return x.text
		}
	}
	return ""
}

// users finds the users of declarations. The field to has the declarations that refer to each declaration, in the order
// of the program.
type users struct {
	p  *program.Program
	to [][]*program.Declaration
}

func usersOf(p *program.Program) *users {
	out := make([][]*program.Declaration, len(p.Decls()))
	for _, of := range p.Decls() {
		for _, r := range p.Refs(of.ID) {
			if list := out[r.To]; len(list) == 0 || list[len(list)-1] != of {
				out[r.To] = append(list, of)
			}
		}
	}
	return &users{p, out}
}

// at returns the users of a declaration, or of the part of it at a path, in the order of the program. The users of an
// output include the users of all outputs of its module, such as a for expression over its instances.
func (u *users) at(d *program.Declaration, path []string) []User {
	var out []User
	if call := u.call(d); call != nil {
		for _, of := range u.to[call.ID] {
			for _, part := range program.Parts(u.p, of.ID, nil) {
				if Name(of) != "" && slices.ContainsFunc(part.Names, func(n program.Name) bool { return n.To == call.ID || n.To == d.ID }) {
					out = append(out, User{Of: of, Path: part.Path, Use: program.ByValue, At: part.At})
				}
			}
		}
	}
	for _, of := range u.to[d.ID] {
		if Name(of) == "" || slices.ContainsFunc(out, func(have User) bool { return have.Of == of }) {
			continue
		}
		use, at := program.Use(0), diag.Range{}
		for _, r := range u.p.Refs(of.ID) {
			if r.To == d.ID {
				if use == 0 {
					at = r.Range
				}
				use |= r.Use
			}
		}
		if use&program.ByValue != 0 {
			out = append(out, byValue(u.p, of, d, path, at)...)
		}
		for _, reason := range uses {
			if use&reason.use != 0 {
				out = append(out, User{Of: of, Use: reason.use, At: at})
			}
		}
	}
	return out
}

// call returns the call of the module whose output is d, or nil if d is no output, or an output of the root module.
func (u *users) call(d *program.Declaration) *program.Declaration {
	if d.Kind != program.Output || d.Module.IsRoot() {
		return nil
	}
	c, _ := u.p.Lookup(d.Module.Parent(), program.Call, d.Module.Name())
	return c
}

// byValue returns the arguments of a declaration that use d, or that use the part of d at the path. The parameter at is
// the place of the reference, for a declaration whose arguments are not known.
func byValue(p *program.Program, of, d *program.Declaration, path []string, at diag.Range) []User {
	parts := program.Parts(p, of.ID, nil)
	if len(parts) == 0 {
		return []User{{Of: of, Use: program.ByValue, At: at}}
	}
	var out []User
	for _, part := range parts {
		if slices.ContainsFunc(part.Names, func(n program.Name) bool { return reads(p, n, d, path) }) {
			out = append(out, User{Of: of, Path: part.Path, Use: program.ByValue, At: part.At})
		}
	}
	return out
}

// reads reports whether the reference n reads d, or the part of d at path. A reference to an output reads the call of
// its module.
func reads(p *program.Program, n program.Name, d *program.Declaration, path []string) bool {
	if to := p.Decls()[n.To]; d.Kind == program.Call && to.Kind == program.Output {
		return to.Module == d.Module.Child(d.Name)
	}
	return n.To == d.ID && overlap(pathIn(n, d), path)
}

// overlap reports whether two paths are equal or one is a prefix of the other.
func overlap(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// pathIn returns the names and constant keys on the path below a declaration that a reference reads. For a resource,
// the path is below the instance: it does not begin with the key of the instance.
func pathIn(n program.Name, d *program.Declaration) []string {
	list := words(strings.TrimPrefix(n.Text, "resource."))
	skip := 2 // the two names of var.name, local.name or type.name
	if d.Kind == program.Resource && d.Resource.Mode != addr.Managed || d.Kind == program.Output {
		skip = 3
	}
	switch {
	case len(list) < skip:
		return nil
	case d.Kind == program.Resource: // the key after the name is the key of the instance
		return names(list[skip:])
	}
	return inside(list[skip-1:])
}
