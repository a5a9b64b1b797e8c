// Package executable writes files that are executed next.
package executable

import (
	"io/fs"
	"os"
	"syscall"
)

// Write is [os.WriteFile] for a file that is executed next. No process is started while the file is open: it would have a copy of the open
// file until it executes its own program, and the kernel executes no file that is open for writing (ETXTBSY, "text file busy").
// https://github.com/golang/go/issues/22315 is about that.
func Write(path string, content []byte, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, mode)
}
