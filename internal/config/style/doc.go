// Package style writes text in the language: it formats text in the canonical style (format.go), and generates
// configuration for an object that has none yet (generate.go).
//
// The canonical style has the spaces and the alignment of the HCL library. It also replaces forms that very old
// versions of the language required: labels without quotes are quoted, a string that consists of one interpolation
// becomes the expression in it, and the types of variables lose their quotes. Each replacement is an edit of the text.
// Afterwards the whole text is laid out.
//
// The result is equal to the result of Terraform and OpenTofu, byte for byte, wherever their result is stable. If
// formatting their result again changes it, or makes it invalid, such as for a comment at the end of an interpolation,
// the result here is the stable form.
package style
