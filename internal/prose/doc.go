// Package prose tests the English of the repository: comments, messages, documents and commit subjects.
//
// Pronouns and relative clauses in the place of nouns make a text hard to read. The tests count such constructions.
// Each has a limit per 1,000 words, for each package and for each document. A low rate does not make a text clear, but a
// high rate makes it unclear.
package prose
