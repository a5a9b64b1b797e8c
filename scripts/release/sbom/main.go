// Command sbom prints what a Go executable is made of, as an SPDX document in JSON: the modules, with the versions and checksums
// that the Go command has recorded in the executable, and the Go release.
//
//	go -C scripts/release run ./sbom ../../operator/bin/manager
//
// The same executable has the same document.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	spdxjson "github.com/spdx/tools-golang/json"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: sbom EXECUTABLE")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("read what %s is built from: %w", args[0], err)
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	return spdxjson.Write(documentOf(filepath.Base(args[0]), hex.EncodeToString(sum[:]), info), out, spdxjson.Indent("  "))
}
