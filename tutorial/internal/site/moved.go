package site

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/yaml"
)

// movedFile maps the former file of a page to the file of the page that has its content now.
const movedFile = "docs/moved.yaml"

// readMoved returns the former addresses of each page, by the page's file.
func (g *generator) readMoved() (map[string][]string, error) {
	text, err := g.read(movedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the former addresses of pages: %w", err)
	}
	var moved map[string]string
	if err := yaml.UnmarshalStrict(text, &moved); err != nil {
		return nil, fmt.Errorf("read %s: %w", movedFile, err)
	}
	former := map[string][]string{}
	for _, from := range slices.Sorted(maps.Keys(moved)) {
		to := moved[from]
		switch _, isPage := g.pages[to]; {
		case path.Ext(from) != ".md":
			return nil, fmt.Errorf("%s: %s is not the file of a page: want a name such as docs/install.md", movedFile, from)
		case g.files[from]:
			return nil, fmt.Errorf("%s: %s still exists: remove the line or the page", movedFile, from)
		case !isPage:
			return nil, fmt.Errorf("%s: %s moved to %s, which is not a page", movedFile, from, to)
		}
		former[to] = append(former[to], "/"+address(from))
	}
	return former, nil
}
