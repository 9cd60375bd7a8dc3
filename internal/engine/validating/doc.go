// Package validating holds a program against its providers' own rules, with everything unknown that is not
// written out. Nothing is configured, and no state is needed.
//
// Program does that for all declarations; Resources and Provisioners do it for some, before a plan that would not
// evaluate them; Imports refuses import blocks into resources that nothing declares.
package validating
