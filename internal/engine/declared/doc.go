// Package declared answers questions about a declaration or an object, apart from its value: the provider that it works
// through (UseOf), its provisioners at creation or destruction (ProvisionersOf), the removed blocks that cover it
// (Removals), whether it has conditions (HasConditions, HasResourceConditions) and how the state names these. Every
// answer depends only on the program.
package declared
