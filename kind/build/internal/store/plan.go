package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Plan is a set of programs that belong together.
type Plan struct {
	Programs []Program `json:"programs"`
}

// ErrIncomplete says that a plan's programs cannot all be run from the store.
var ErrIncomplete = errors.New("it is incomplete")

// Assets is the folder to run a plan's programs from: it holds them under their
// names, as links. The error is an ErrIncomplete, with what is missing, unless
// all of them are there and sound.
func (s Store) Assets(plan string) (string, error) {
	var content Plan
	if err := readJSON(s.planFile(plan), &content); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: nothing in it was built from this go.mod with this Go", ErrIncomplete)
	} else if err != nil {
		return "", err
	}
	for _, p := range content.Programs {
		if err := s.Check(p); err != nil {
			return "", fmt.Errorf("%w: %w", ErrIncomplete, err)
		}
		link := filepath.Join(s.assetsDir(plan), p.Name)
		if target, err := os.Readlink(link); err != nil || target != linkTarget(p) {
			return "", fmt.Errorf("%w: there is no link %s", ErrIncomplete, link)
		}
	}
	return s.assetsDir(plan), nil
}

// linkTarget is relative, so that the cache can be moved, copied and mounted
// elsewhere.
func linkTarget(p Program) string {
	return filepath.Join("..", "..", "programs", p.Name+"-"+p.Key, p.Name)
}
