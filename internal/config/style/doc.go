// Package style writes text in the language: it formats text in the canonical style (format.go), and generates
// configuration for existing objects without configuration (generate.go).
//
// The canonical style has the spaces and the alignment of the HCL library. It also replaces forms that very old
// versions of the language required: labels without quotes are quoted, a string that consists of one interpolation
// becomes the expression in it, and the types of variables lose their quotes. Each replacement is an edit of the text.
// Afterwards the whole text is laid out.
//
// If Terraform and OpenTofu return a stable result for a text, Lethe's result is equal to it, byte for byte. Their
// result is not stable for some texts, such as an interpolation with a comment at its end: when they format the result
// again, it changes or becomes invalid. For such a text, the result of Lethe is a stable form.
package style
