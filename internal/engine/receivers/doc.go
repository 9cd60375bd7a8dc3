// Package receivers determines which declarations of a program receive which ephemeral resources, and analyses other
// references.
//
// The configuration alone determines which leases are opened and for which receivers. References lead from a receiver,
// through values (variables, locals, outputs, module calls), to ephemeral resources. So the package needs only a
// program.Program, and no frame, state or walk. The plan walk, the apply walk and the preview of leases use the same
// analysis.
//
// Analyse returns an Analysis. It has these methods for a declaration:
//
//   - Received: the ephemeral resources whose values it receives, and their instances. ReceivedByParts does the same
//     for its provisioners and connections, Repeating for its repetition.
//   - Steady, Face: whether its value is equal on both faces: the prior and the planned values.
//   - Resources, FromResources, Recorded, Leased: the sources of its value.
//
// It has these methods for ephemeral resources:
//
//   - ByInstance: whether its instances are held separately.
//   - OpensItself, OwnKeys: whether it is opened without a receiver that acts on its value.
//   - Needed: the resources that some of the declarations receive.
//   - OnlyWritten: the resources that only write-only arguments receive.
package receivers
