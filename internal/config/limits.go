package config

// Limits bound what one configuration may ask of the machine. They are far above what people
// write and far below what breaks the parser: the HCL library recurses with the nesting of its
// input, and a stack that overflows cannot be caught. A field that is zero has its default.
type Limits struct {
	FileSize int64 // bytes of one file
	Tokens   int   // words and symbols of one module, roughly; each takes 200 to 300 bytes of memory
	Nesting  int   // brackets, blocks, strings and template directives inside each other
	Chain    int   // operators and brackets on the longest way down one expression
	Digits   int   // length of a number literal
	Exponent int   // of a number literal, either sign
	Literal  int   // elements and bytes that a constant expression may grow to
	Joins    int64 // bytes that joining the lines of the texts in one file may move

	ModuleDepth int // calls between the root module and a nested one
	Modules     int // nodes in the tree of calls
}

// DefaultLimits are what holds where nothing else is said.
var DefaultLimits = Limits{
	FileSize: 64 << 20,
	Tokens:   3_000_000,
	Nesting:  1000,
	Chain:    10_000,
	Digits:   10_000,
	Exponent: 10_000,
	Literal:  10_000_000,
	Joins:    10_000_000_000,

	ModuleDepth: 100,
	Modules:     100_000,
}

// filled is l with the defaults where it says nothing.
func (l Limits) filled() Limits {
	d := DefaultLimits
	fill(&l.FileSize, d.FileSize)
	fill(&l.Tokens, d.Tokens)
	fill(&l.Nesting, d.Nesting)
	fill(&l.Chain, d.Chain)
	fill(&l.Digits, d.Digits)
	fill(&l.Exponent, d.Exponent)
	fill(&l.Literal, d.Literal)
	fill(&l.Joins, d.Joins)
	fill(&l.ModuleDepth, d.ModuleDepth)
	fill(&l.Modules, d.Modules)
	return l
}

func fill[T int | int64](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}
