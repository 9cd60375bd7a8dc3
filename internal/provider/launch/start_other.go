//go:build !unix

package launch

func busy(error) bool { return false }

// foreign returns false: the reason is unknown on this system.
func foreign(error) bool { return false }
