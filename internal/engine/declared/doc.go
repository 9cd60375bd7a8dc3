// Package declared answers what a compiled program says of one declaration or object, beside its value:
// through which provider it works (UseOf), which provisioners run at an end of its life (ProvisionersOf),
// what removed blocks say of its end (Removals), and whether it has conditions (HasConditions,
// HasResourceConditions) and how the state names them. Every answer is a function of the program alone.
package declared
