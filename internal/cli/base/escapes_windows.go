package base

import "golang.org/x/sys/windows"

// escapes reports whether a stream understands escape sequences for colours and movements. It enables them on a console
// of Windows, where they are off by default. It returns true for a stream that is not a console.
func escapes(stream any) bool {
	f, ok := asFile(stream)
	if !ok {
		return true
	}
	console, mode := windows.Handle(f.Fd()), uint32(0)
	if windows.GetConsoleMode(console, &mode) != nil {
		return true // the stream is not a console
	}
	return mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0 || windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
