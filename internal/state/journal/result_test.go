package journal

// Result calls Later and waits for the result. Only tests use it.
func (w *Writer) Result(op Op, changed ...Change) error {
	result := make(chan error, 1)
	w.Later(func(err error) { result <- err }, op, changed...)
	return <-result
}
