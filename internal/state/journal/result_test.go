package journal

// Result is Later for tests, which wait.
func (w *Writer) Result(op Op, changed ...Change) error {
	result := make(chan error, 1)
	w.Later(func(err error) { result <- err }, op, changed...)
	return <-result
}
