package diag

import "github.com/agext/levenshtein"

func distance(a, b string) int { return levenshtein.Distance(a, b, nil) }
