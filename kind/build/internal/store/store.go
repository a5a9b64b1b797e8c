// Package store keeps the programs that one key stands for in a directory of the
// user's cache, which many clones, and on a shared machine many users, use at
// once.
//
//	<name>        a program
//	<name>.json   its size, time and digest, and what it was built from
//
// A program never changes under its key. Both files are finished elsewhere and
// renamed into place, so a reader sees a whole file or none. Looking needs neither
// a lock nor the permission to write.
package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Store is a directory that holds programs. It need not exist.
type Store string

// record says what a program must look like.
type record struct {
	// Size is in bytes.
	Size int64 `json:"size"`
	// ModTime is when the file was finished. A file that has another one is
	// read whole and compared with SHA256.
	ModTime time.Time `json:"modTime"`
	// SHA256 is the digest of the file, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Origin is the address that the program was downloaded from; empty means that it was
	// compiled. `make doctor` and the benchmarks read it.
	Origin string `json:"origin,omitempty"`
	// Inputs are the facts that the key stands for, for a person who wonders why
	// the program was built again.
	Inputs []string `json:"inputs"`
}

// The errors of Check.
var (
	ErrMissing = errors.New("was not built from this go.mod with this Go")
	ErrDamaged = errors.New("in the cache is damaged")
)

// Check reports whether a program is there, and what was put there: the error is
// nil, an ErrMissing or an ErrDamaged. It compares size and time of change. Only a
// file whose time differs, because the cache was copied or something wrote to the
// file, is read. If its content is right, the time is corrected, where that is
// allowed, so that the next Check need not read it.
func (s Store) Check(name string) error {
	var want record
	data, err := os.ReadFile(s.recordOf(name))
	if err != nil || json.Unmarshal(data, &want) != nil {
		return fmt.Errorf("%s %w", name, ErrMissing)
	}
	damaged := func(reason any) error { return fmt.Errorf("%s %w (%v)", name, ErrDamaged, reason) }
	info, err := os.Stat(s.file(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %w", name, ErrMissing)
	case err != nil:
		return damaged(err)
	case info.Size() != want.Size:
		return damaged(fmt.Sprintf("it has %d bytes instead of %d", info.Size(), want.Size))
	case info.Mode().Perm()&0o111 == 0:
		return damaged("it is not executable")
	case info.ModTime().Equal(want.ModTime):
		return nil
	}
	if sum, err := digest(s.file(name)); err != nil || sum != want.SHA256 {
		return damaged("its content has changed")
	}
	_ = os.Chtimes(s.file(name), time.Time{}, want.ModTime)
	return nil
}

// Has reports whether a program of that name is there, damaged or not.
func (s Store) Has(name string) bool {
	_, err := os.Stat(s.recordOf(name))
	return err == nil
}

// Link puts a program of this store into a directory, without taking up space a second time
// where the file system can do that. It returns the program's origin.
func (s Store) Link(name, dir string) (origin string, err error) {
	var r record
	data, err := os.ReadFile(s.recordOf(name))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, name)
	if os.Link(s.file(name), to) == nil {
		return r.Origin, nil
	}
	return r.Origin, copyFile(s.file(name), to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Add moves a finished program from a directory on the same file system into the
// store, in the place of a damaged one that may be there. The origin is the address that it
// was downloaded from, or empty. Only the holder of the lock may call it.
func (s Store) Add(work, name, origin string, inputs []string) error {
	finished, written := filepath.Join(work, name), filepath.Join(work, name+".json")
	sum, err := digest(finished)
	if err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(finished, 0o755), os.MkdirAll(string(s), 0o755)); err != nil {
		return err
	}
	info, err := os.Stat(finished)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(record{info.Size(), info.ModTime(), sum, origin, inputs}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(written, data, 0o644); err != nil {
		return err
	}
	// If only one of them gets there, the program counts as missing or damaged.
	return errors.Join(os.Rename(finished, s.file(name)), os.Rename(written, s.recordOf(name)))
}

func (s Store) file(name string) string { return filepath.Join(string(s), name) }

func (s Store) recordOf(name string) string { return s.file(name + ".json") }

// digest is the SHA-256 of a file, in hexadecimal.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
