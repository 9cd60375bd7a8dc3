//go:build !unix

package launch

func busy(error) bool { return false }

// foreign reports that the file is no program that can run here.
func foreign(error) bool { return false }
