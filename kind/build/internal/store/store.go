// Package store keeps built programs in a folder of the user's cache that many
// clones, and on a shared machine many users, use at once.
//
//	programs/<name>-<key>/<name>        one program
//	programs/<name>-<key>/record.json   its size, digest and what it is built from
//	plans/<plan>.json                   the programs that belong together
//	assets/<plan>/<name>                links to them: the folder to run them from
//	lock                                held by the process that builds
//	work/                               unfinished files of that process
//
// A key is a digest of everything a program is built from, so that a program
// never changes under its name. Every file is finished in work/ and renamed into
// place: a reader sees a whole file or none. Looking needs neither the lock nor
// the right to write.
package store

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Store is a folder that holds programs.
type Store struct {
	root string
}

// At returns the store in a folder, which need not exist yet. It touches nothing.
func At(root string) Store { return Store{root: root} }

// Root is the store's folder.
func (s Store) Root() string { return s.root }

// Program names a program in the store.
type Program struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

func (s Store) programDir(p Program) string {
	return filepath.Join(s.root, "programs", p.Name+"-"+p.Key)
}

func (s Store) programFile(p Program) string {
	return filepath.Join(s.programDir(p), p.Name)
}

func (s Store) recordFile(p Program) string {
	return filepath.Join(s.programDir(p), "record.json")
}

func (s Store) planFile(plan string) string {
	return filepath.Join(s.root, "plans", plan+".json")
}

func (s Store) assetsDir(plan string) string {
	return filepath.Join(s.root, "assets", plan)
}

// readJSON reads a JSON file. A file that is damaged is as good as none, so it
// is reported as fs.ErrNotExist too.
func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %s holds no valid JSON: %w", fs.ErrNotExist, path, err)
	}
	return nil
}
