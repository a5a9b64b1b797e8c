package plan

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// stage is where a chapter of the tutorial has its operator and its suite, relative to the root of the repository.
type stage struct{ operator, suite string }

// findStage reads which directories a chapter.yaml names, which are else the chapter's own.
func findStage(root, name string) (stage, error) {
	text, err := os.ReadFile(filepath.Join(root, "tutorial", name, "chapter.yaml"))
	if err != nil {
		return stage{}, fmt.Errorf("there is no chapter %s: use the name of a directory in tutorial, such as 03-controller: %w", name, err)
	}
	s := stage{operator: path.Join("tutorial", name), suite: path.Join("tutorial", name, "test", "e2e")}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "operator: "); found {
			s.operator = strings.TrimSpace(value)
		}
		if value, found := strings.CutPrefix(line, "suite: "); found {
			s.suite = strings.TrimSpace(value)
		}
	}
	return s, nil
}

// tested returns the packages below directories that have tests. Test binaries that are kept are called after the last element of their
// package's path, so a package without tests, whose name may be another's, must not be among them.
func tested(root string, directories ...string) ([]string, error) {
	var packages []string
	for _, directory := range directories {
		err := filepath.WalkDir(filepath.Join(root, directory), func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if name := entry.Name(); entry.IsDir() {
				if name == "testdata" || name == "bin" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
					return fs.SkipDir
				}
				if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil {
					return fs.SkipDir
				}
				return nil
			}
			if strings.HasSuffix(file, "_test.go") {
				relative, err := filepath.Rel(root, filepath.Dir(file))
				if err != nil {
					return err
				}
				packages = append(packages, "./"+filepath.ToSlash(relative))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages), nil
}

// withMutants returns the chapters whose suites have mutants: those that break the finished operator, and those with their own.
func withMutants(root string) (finished, own []string, err error) {
	files, err := filepath.Glob(filepath.Join(root, "tutorial", "*", "chapter.yaml"))
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		s, err := findStage(root, name)
		if err != nil {
			return nil, nil, err
		}
		if _, err := os.Stat(filepath.Join(root, s.suite, "mutants")); err != nil {
			continue
		}
		if s.operator == "operator" {
			finished = append(finished, name)
		} else {
			own = append(own, name)
		}
	}
	if len(finished) == 0 || len(own) == 0 {
		return nil, nil, fmt.Errorf("of the chapters %q, the finished operator's have the mutants of %q, and the others those of %q: expected some of each", files, finished, own)
	}
	return finished, own, nil
}

// operatorPackages returns the directories of the operator's packages, relative to the root.
func operatorPackages(root string) ([]string, error) {
	var directories []string
	err := filepath.WalkDir(filepath.Join(root, "operator"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		directory, err := filepath.Rel(root, filepath.Dir(file))
		directories = append(directories, filepath.ToSlash(directory))
		return err
	})
	slices.Sort(directories)
	return slices.Compact(directories), err
}

// environment returns a variable, or a default where it is not set.
func environment(name, fallback string) string {
	if value, set := os.LookupEnv(name); set {
		return value
	}
	return fallback
}

// clustersAtOnce returns how many kind clusters run at the same time: as many as have room in the memory, and as many as there are cores that
// nothing else uses now, because a kubelet that has to wait for its turn gets pods ready too late for their probes. A cluster keeps about a
// core busy while its suite runs. A node takes 1 GiB, and compiling and running its suite takes 2 GiB more.
func clustersAtOnce() int {
	free, err := freeMemory()
	if err != nil { // without an answer, one is safe
		return 1
	}
	idle, err := idleCores(time.Second)
	if err != nil { // nothing is known of what else runs
		idle = float64(runtime.NumCPU())
	}
	return clustersFor(free, idle)
}

// clustersFor returns how many kind clusters have room in so many GiB of memory, and on so many idle cores.
func clustersFor(free int, idle float64) int {
	most := 3
	switch {
	case free < 6:
		most = 1
	case free < 9:
		most = 2
	}
	return max(1, min(most, int(math.Round(idle))))
}

// idleCores measures how many cores were idle for a while.
func idleCores(while time.Duration) (float64, error) {
	before, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	<-time.After(while) // this is what is measured
	after, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	share, err := idleShare(string(before), string(after))
	return share * float64(runtime.NumCPU()), err
}

// idleShare returns which part of the processor time was idle between two readings of /proc/stat. The first line of each has the sums over
// all cores: user, nice, system, idle, iowait and more.
func idleShare(before, after string) (float64, error) {
	var sums [2]struct{ idle, all float64 }
	for i, text := range []string{before, after} {
		line, _, _ := strings.Cut(text, "\n")
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[0] != "cpu" {
			return 0, fmt.Errorf("/proc/stat begins with %q, want cpu and its times", line)
		}
		for at, field := range fields[1:] {
			value, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/stat begins with %q: %w", line, err)
			}
			if at == 3 || at == 4 {
				sums[i].idle += value
			}
			if at < 8 { // the time of guests, which follows, is part of user and nice
				sums[i].all += value
			}
		}
	}
	all := sums[1].all - sums[0].all
	if all <= 0 {
		return 0, errors.New("no time has passed in /proc/stat")
	}
	return (sums[1].idle - sums[0].idle) / all, nil
}

// freeMemory returns how many GiB of memory are free, of this machine or of the virtual machine in which its engine runs containers.
func freeMemory() (int, error) {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		out, err := exec.Command("docker", "info", "--format", "{{.MemTotal}}").Output()
		if err != nil {
			return 0, fmt.Errorf("ask docker for its memory: %w", err)
		}
		total, err := strconv.Atoi(strings.TrimSpace(string(out)))
		return total >> 30, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "MemAvailable:" {
			kilobytes, err := strconv.Atoi(fields[1])
			return kilobytes >> 20, err
		}
	}
	return 0, fmt.Errorf("%s has no MemAvailable", file.Name())
}

// hasEngine reports whether there is a container engine.
func hasEngine() bool { return exec.Command("docker", "version").Run() == nil }
