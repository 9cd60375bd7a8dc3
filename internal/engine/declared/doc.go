// Package declared answers questions about a declaration or an object that need no evaluation. UseOf returns its
// provider instance, ProvisionersOf the provisioners that a change runs, and Removals the removed blocks that cover it.
// HasConditions and HasResourceConditions report whether it has conditions, and ConditionsAddr returns the name that
// the state uses for these.
package declared
