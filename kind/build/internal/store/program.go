package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Record says what a program in the store must look like.
type Record struct {
	Program
	// Size is in bytes.
	Size int64 `json:"size"`
	// ModTime is when the file was finished. A file that has another one is
	// read whole and compared with SHA256.
	ModTime time.Time `json:"modTime"`
	// SHA256 is the digest of the file, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Inputs are the facts that Key stands for.
	Inputs []string `json:"inputs"`
}

// ErrMissing says that a program was never built, or is gone.
var ErrMissing = errors.New("not built yet")

// DamagedError says that a program in the store is not what was put there.
type DamagedError struct {
	Program Program
	// Reason says in what way.
	Reason string
}

// Error is one sentence without the mend, which is to build the program again.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s in the cache is damaged (%s)", e.Program.Name, e.Reason)
}

// Check says whether a program is in the store and sound: nil, ErrMissing or a
// *DamagedError. It compares size and time of change; only a file whose time
// differs, because the cache was copied or something wrote to the file, is read;
// if it is sound its time is put right, where that is allowed, so that the next
// one need not read it.
func (s Store) Check(p Program) error {
	var record Record
	if err := readJSON(s.recordFile(p), &record); errors.Is(err, fs.ErrNotExist) {
		return ErrMissing
	} else if err != nil {
		return err
	}
	damaged := func(format string, args ...any) error {
		return &DamagedError{Program: p, Reason: fmt.Sprintf(format, args...)}
	}
	info, err := os.Stat(s.programFile(p))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return damaged("the file is gone")
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return damaged("it is no regular file")
	case info.Size() != record.Size:
		return damaged("it has %d bytes instead of %d", info.Size(), record.Size)
	case info.Mode().Perm()&0o111 == 0:
		return damaged("it is not executable")
	case info.ModTime().Equal(record.ModTime):
		return nil
	}
	sum, err := digest(s.programFile(p))
	if err != nil {
		return err
	}
	if sum != record.SHA256 {
		return damaged("its content has changed")
	}
	_ = os.Chtimes(s.programFile(p), time.Time{}, record.ModTime)
	return nil
}

// digest is the SHA-256 of a file, in hexadecimal.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
