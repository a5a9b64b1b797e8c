package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/example/operator-testbed/kind/build/lock"
)

// Writer is the right to change a store. One process has it at a time.
type Writer struct {
	store Store
	work  string
	lock  *os.File

	// create opens a new file for writing.
	create func(path string) (file, error)
}

// file is what a Writer needs of an open file.
type file interface {
	io.WriteCloser
	Sync() error
}

// Lock waits until nobody else changes the store. When another process does, it
// calls waiting with that process's id, 0 if it is unknown. The right ends with
// Unlock or with the process, however it ends. What a holder that was killed has
// left unfinished is removed.
func (s Store) Lock(ctx context.Context, waiting func(pid int)) (*Writer, error) {
	if err := os.MkdirAll(s.root, 0o755); err != nil {
		return nil, err
	}
	held, err := lock.Acquire(ctx, filepath.Join(s.root, "lock"), waiting)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		store:  s,
		work:   filepath.Join(s.root, "work"),
		lock:   held,
		create: func(path string) (file, error) { return os.Create(path) },
	}
	err = os.RemoveAll(w.work)
	if err == nil {
		err = os.Mkdir(w.work, 0o755)
	}
	if err != nil {
		w.Unlock()
		return nil, err
	}
	return w, nil
}

// Unlock gives the right back and removes what is unfinished.
func (w *Writer) Unlock() {
	// What cannot be removed now is removed by the next holder.
	_ = os.RemoveAll(w.work)
	_ = w.lock.Close()
}

// Work is a folder for unfinished files, on the store's file system.
func (w *Writer) Work() string { return w.work }

// Add moves a finished executable from the Work folder into the store, in the
// place of a damaged one that may be there.
func (w *Writer) Add(p Program, executable string, inputs []string) error {
	if err := os.Chmod(executable, 0o755); err != nil {
		return err
	}
	if err := flush(executable); err != nil {
		return err
	}
	sum, err := digest(executable)
	if err != nil {
		return err
	}
	info, err := os.Stat(executable)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(w.store.programDir(p), 0o755); err != nil {
		return err
	}
	// The program first: without a record it counts as missing, and beside the
	// record of a damaged one as damaged, so that a crash in between is seen.
	if err := os.Rename(executable, w.store.programFile(p)); err != nil {
		return err
	}
	return w.writeJSON(w.store.recordFile(p), Record{
		Program: p,
		Size:    info.Size(),
		ModTime: info.ModTime(),
		SHA256:  sum,
		Inputs:  inputs,
	})
}

// Publish makes the assets folder of a plan whose programs are all in the store.
func (w *Writer) Publish(plan string, programs []Program) (string, error) {
	dir := w.store.assetsDir(plan)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, p := range programs {
		link := filepath.Join(dir, p.Name)
		if target, err := os.Readlink(link); err == nil && target == linkTarget(p) {
			continue
		}
		if err := os.RemoveAll(link); err != nil {
			return "", err
		}
		if err := os.Symlink(linkTarget(p), link); err != nil {
			return "", err
		}
	}
	// Last: the plan says that the folder is complete.
	if err := w.writeJSON(w.store.planFile(plan), Plan{Programs: programs}); err != nil {
		return "", err
	}
	return dir, nil
}

// writeJSON puts a JSON file into place in one step.
func (w *Writer) writeJSON(path string, content any) error {
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	unfinished := filepath.Join(w.work, filepath.Base(path))
	f, err := w.create(unfinished)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.Rename(unfinished, path)
}

// flush waits until a file is on the disk: a name that outlives a crash must not
// be that of a file whose content did not.
func flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
