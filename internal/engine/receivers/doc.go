// Package receivers says which declarations of a program receive which ephemeral resources, and answers
// related questions about references.
//
// Which leases are opened, and for whom, follows from the configuration alone: from the references of a
// receiver, along values (variables, locals, outputs, module calls), to the ephemeral resources behind
// them. So this package looks at a program.Program and at nothing else: no frame, no state, no walk. The plan
// walk, the apply walk and the preview of leases ask it the same questions and get the same answers.
//
// Analyse makes an Analysis. Of one declaration it tells
//
//   - Received: the ephemeral resources whose values it receives, and which instances of them;
//     ReceivedByParts the same for its provisioners and connections, Repeating for its repetition;
//   - Steady, Face: whether its value is the same before and after;
//   - Resources, FromResources, Recorded, Leased: what its value is made from.
//
// Of an ephemeral resource it tells whether its instances are held one by one (ByInstance), whether it is
// opened although nothing acts on its value (OpensItself, OwnKeys), and which of a set are received at all
// (Needed) or by write-only arguments alone (OnlyWritten).
package receivers
