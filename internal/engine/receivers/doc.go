// Package receivers determines which declarations of a program receive which ephemeral resources, and analyses other
// references. A receiver is a resource, a provider configuration or a declaration with conditions that uses the value
// of an ephemeral resource.
//
// References lead from a receiver, through values (variables, locals, outputs, module calls), to ephemeral resources.
// They are known from the configuration alone, so the package needs only a program.Program: no values, no state and no
// run. A plan or an apply then decides which of these ephemeral resources it opens. Planning, applying and the preview
// of open ephemeral resources use the same analysis.
//
// Analyse returns an Analysis. It has these methods for a declaration:
//
//   - Received: the ephemeral resources whose values the declaration receives, and their instances. ReceivedByParts
//     returns the ephemeral resources that its provisioners, connections and actions receive, and Repeating the
//     ephemeral resources in its count or for_each.
//   - Steady: whether its prior value (the before face) is always equal to its planned value (the after face). Face
//     returns the face on which to read its value.
//   - Resources, FromResources, Recorded, Leased: the resources on which its value depends.
//
// It has these methods for ephemeral resources:
//
//   - ByInstance: whether its instances are opened and closed one by one.
//   - OpensItself: whether it is opened although it has no receiver. OwnKeys: which instances are.
//   - Needed: the ephemeral resources that a set of declarations receives.
//   - OnlyWritten: the ephemeral resources that only write-only arguments receive.
package receivers
