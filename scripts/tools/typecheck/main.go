// Command typecheck type-checks packages, and everything that they import, for
// platforms other than the one it runs on. It finds what the compiler would reject
// for such a platform, at a fraction of the cost, because it compiles nothing.
//
//	go -C scripts/tools run ./typecheck -C "$PWD" -platforms darwin/arm64 ./...
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	dir := flag.String("C", ".", "the directory of the module whose packages are checked")
	platforms := flag.String("platforms", "", "comma-separated GOOS/GOARCH pairs to check for")
	tests := flag.Bool("test", false, "check the packages' tests as well")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: typecheck [-C dir] [-test] -platforms os/arch,... package ...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *platforms == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	failed := false
	for platform := range strings.SplitSeq(*platforms, ",") {
		started := time.Now()
		checked, err := run(*dir, platform, *tests, flag.Args())
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			failed = true
			continue
		}
		fmt.Printf("%s: %d packages of %s type-check (%s)\n", platform, checked, strings.Join(flag.Args(), " "), time.Since(started).Round(100*time.Millisecond))
	}
	if failed {
		os.Exit(1)
	}
}

// run checks for one platform and returns how many packages it has checked.
func run(dir, platform string, tests bool, patterns []string) (int, error) {
	packages, err := list(dir, platform, tests, patterns)
	if err != nil {
		return 0, err
	}
	return len(packages), check(packages, platform)
}
