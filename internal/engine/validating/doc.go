// Package validating checks a program against the rules of its providers. All values that the configuration does not
// contain are unknown. It configures no provider and needs no state.
//
// Program checks all declarations. Resources and Provisioners check some declarations that a plan does not evaluate.
package validating
