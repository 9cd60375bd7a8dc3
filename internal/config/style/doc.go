// Package style writes text in the language: a text in the canonical style (format.go), and configuration for an object
// that has none yet (generate.go).
//
// The canonical style is that of the HCL library for spaces and alignment, and besides that takes
// back what very old versions of the language asked for: labels without quotes get them, an
// argument that is nothing but one interpolation becomes the expression in it, and the types of
// variables lose their quotes. Such a change is an edit of the text; afterwards the text is laid
// out as a whole.
//
// The layout is that of Terraform and OpenTofu byte for byte wherever their own result is stable. Where theirs changes
// again when it is formatted once more, or is not valid any more (a comment at the end of what
// stood in an interpolation), the result here is the one that stays.
package style
