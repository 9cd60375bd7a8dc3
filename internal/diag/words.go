package diag

import "fmt"

// Counted is a number with the words for one and for many: "1 change was", "2 changes were".
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
