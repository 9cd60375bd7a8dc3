// Package validating checks a program against the rules of its providers: it evaluates the blocks and asks the
// providers to validate them. Values that the configuration does not contain are unknown, for example computed
// attributes. The package configures no provider and needs no state.
//
// Program checks all resources, actions and provider blocks. Resources and Provisioners check some declarations, for a
// plan that does not evaluate them.
package validating
