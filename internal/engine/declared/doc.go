// Package declared answers questions about a declaration or an object that need no evaluation. UseOf returns the
// provider instance that a declared object uses. ProvisionersOf returns the provisioners that a change runs. Removals
// finds the removed blocks that cover an object. HasConditions and HasResourceConditions report whether a declaration
// has conditions, and ConditionsAddr returns the address of conditions in the state.
package declared
