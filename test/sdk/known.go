package sdk

// A rule recognises differences that are on purpose.
type rule struct {
	row    string // how a row of docs/differences.md begins; "" if the reason is no difference for users
	reason string
	match  func(d Difference, b *Batch) bool
}

var rules = []rule{}

func (d Difference) known(b *Batch) bool {
	for _, r := range rules {
		if r.match(d, b) {
			return true
		}
	}
	return false
}
