package twins_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/tier"
)

var costs = section{
	begins: "<!-- The costs: printed by go test ./tutorial/operator-sdk/test/twins -run 'TestLines|TestCosts' -update. -->\n",
	ends:   "<!-- The end of the costs. -->",
}

// The rows of the table of costs.
const (
	apiLines      = "lines for the API, about"
	behaviorLines = "lines for its behavior, about"
	firstTime     = "time until one Memcached is up"
	allTime       = "time until 100 more are up"
	writeCount    = "writes for each of them"
	cpuTime       = "CPU time for each of them"
	firstMemory   = "memory with one Memcached"
	peakMemory    = "peak memory with 101"
	oneMemory     = "more memory for each of them"
	executable    = "size of the executable"
)

var costRows = []string{apiLines, behaviorLines, firstTime, allTime, writeCount, cpuTime, firstMemory, peakMemory, oneMemory, executable}

// notMeasured is in the table where a figure is missing.
const notMeasured = "not measured"

// costTable is the table of the page: the figures of an operator by its name, and by row.
type costTable map[string]map[string]string

func readCosts(t *testing.T, file string) costTable {
	t.Helper()
	_, text, _ := costs.split(t, file)
	shown := parseTable(text)
	read := costTable{}
	for i, operator := range twins {
		read[operator.name] = map[string]string{}
		for _, cells := range shown {
			if len(cells) > i+1 {
				read[operator.name][cells[0]] = cells[i+1]
			}
		}
	}
	return read
}

// write writes the table into the page, and where it was measured.
func (c costTable) write(t *testing.T, file string, measured string) {
	t.Helper()
	var cells [][]string
	for _, row := range costRows {
		line := []string{row}
		for _, operator := range twins {
			figure := c[operator.name][row]
			if figure == "" {
				figure = notMeasured
			}
			line = append(line, figure)
		}
		cells = append(cells, line)
	}
	costs.write(t, file, formatTable([]string{"cost"}, cells)+"\n"+measured)
}

// TestLines counts the lines that the author of each operator writes, and compares them with the page's table of costs.
func TestLines(t *testing.T) {
	file, root := page(t)
	shown := readCosts(t, file)
	for _, operator := range twins {
		for row, paths := range map[string][]string{apiLines: operator.api, behaviorLines: operator.behavior} {
			lines := 0
			for _, name := range paths {
				lines += countBelow(t, filepath.Join(operator.project(root), filepath.FromSlash(name)))
			}
			counted := rounded(lines)
			if *update {
				shown[operator.name][row] = counted
			} else if shown[operator.name][row] != counted {
				t.Errorf("%s: %s: the page says %s, and there are %d: go test ./tutorial/operator-sdk/test/twins -run TestLines -update", operator.name, row, shown[operator.name][row], lines)
			}
		}
	}
	if *update {
		_, text, _ := costs.split(t, file)
		_, measured, _ := strings.Cut(text, "\n\nMeasured ")
		if measured != "" {
			measured = "Measured " + strings.TrimSpace(measured) + "\n"
		}
		shown.write(t, file, measured)
	}
}

// countBelow counts the lines of the files that an author writes, in a directory or file.
func countBelow(t *testing.T, root string) (lines int) {
	t.Helper()
	if err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir():
			if name == "applyconfiguration" || name == "testenv" { // generated, and for tests
				return fs.SkipDir
			}
			return nil
		case strings.HasSuffix(name, "_test.go"), strings.HasPrefix(name, "zz_generated"), name == "groupversion_info.go", name == "main.go":
			return nil // tests, what is generated, and what a scaffold has written
		}
		text, err := os.ReadFile(file)
		lines += linesOf(file, string(text))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

// linesOf counts the lines of a file, without those that are blank or a comment. A marker is code, because permissions and schemas are
// generated from it.
func linesOf(file, text string) (lines int) {
	comment := "#"
	if filepath.Ext(file) == ".go" {
		comment = "//"
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		rest, isComment := strings.CutPrefix(line, comment)
		if line != "" && line != "---" && (!isComment || strings.HasPrefix(strings.TrimSpace(rest), "+")) {
			lines++
		}
	}
	return lines
}

// rounded returns a count to two digits, so that few changes of an operator change the page.
func rounded(n int) string {
	unit := 1
	for n/unit >= 100 {
		unit *= 10
	}
	return grouped((n + unit/2) / unit * unit)
}

// grouped returns a number with a comma for thousands.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

func TestLinesOf(t *testing.T) {
	g := NewWithT(t)
	g.Expect(linesOf("a.go", "package a\n\n// A comment.\n// +kubebuilder:rbac:groups=a\n\tx := 1 // not only a comment\n")).To(Equal(3))
	g.Expect(linesOf("a.yaml", "# A comment.\n---\na: 1\n\nb: 2")).To(Equal(2))
	for n, want := range map[int]string{7: "7", 99: "99", 104: "100", 105: "110", 1249: "1,200", 1250: "1,300", 12345: "12,000"} {
		g.Expect(rounded(n)).To(Equal(want))
	}
}

// cost is what testbed bench cost prints.
type cost struct {
	First, All, CPU            time.Duration
	Writes, Memory, PeakMemory float64
	Objects                    int
}

// TestCosts measures what each operator takes to create objects. With -update, it writes the page's table. Without, it measures fewer
// objects, and compares the number of writes of those operators for which only a slow cluster changes it.
func TestCosts(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsEmbedded(t)
	file, root := page(t)
	objects := 5
	if *update {
		objects = 100
	}
	for _, operator := range twins {
		t.Run(operator.name, func(t *testing.T) {
			programs := operator.needPrograms(t, root)
			project := operator.project(root)
			binary := operator.executable(t, project)
			printed, log, err := operator.testbed(t, root, "bench", "cost", "--operator="+binary, "--manifests="+filepath.Join(project, "config", "default"),
				"--condition="+operator.condition, fmt.Sprintf("--objects=%d", objects), "--json")
			if err != nil {
				t.Fatalf("testbed bench cost: %v\n%s", err, log)
			}
			var measured cost
			if err := json.Unmarshal([]byte(printed), &measured); err != nil {
				t.Fatalf("testbed bench cost printed %q: %v", printed, err)
			}
			if operator.program != "" {
				binary = programs.Path(operator.program)
			}
			figures := measured.figures(t, binary)
			shown := readCosts(t, file)
			if *update {
				maps.Copy(shown[operator.name], figures)
				shown.write(t, file, fmt.Sprintf("Measured on %s/%s with %d CPUs, in %s.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), time.Now().UTC().Format("January 2006")))
				return
			}
			g := NewWithT(t)
			if operator.steadyWrites {
				want, err := strconv.ParseFloat(shown[operator.name][writeCount], 64)
				g.Expect(err).NotTo(HaveOccurred())
				// In each second in which pods get ready, it may write that once.
				g.Expect(measured.Writes).To(And(BeNumerically(">=", 2), BeNumerically("<=", want+measured.All.Seconds())),
					"expected what the table in tutorial/operator-sdk/helm/README.md says: -update writes it")
			}
			missing := slices.DeleteFunc(slices.Clone(costRows), func(row string) bool {
				figure := shown[operator.name][row]
				return figure != "" && figure != notMeasured
			})
			g.Expect(missing).To(BeEmpty(), "rows of the table without a figure")
		})
	}
}

// figures returns what the table shows.
func (c cost) figures(t *testing.T, binary string) map[string]string {
	t.Helper()
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		firstTime:   fmt.Sprintf("%.1f s", c.First.Seconds()),
		allTime:     fmt.Sprintf("%.0f s", c.All.Seconds()),
		writeCount:  fmt.Sprintf("%.1f", c.Writes),
		cpuTime:     fmt.Sprintf("%s ms", grouped(int(1000*c.CPU.Seconds()+0.5))),
		firstMemory: fmt.Sprintf("%.0f MiB", c.Memory),
		peakMemory:  fmt.Sprintf("%.0f MiB", c.PeakMemory),
		oneMemory:   fmt.Sprintf("%s KiB", grouped(int(max(0, c.PeakMemory-c.Memory)*1024/float64(c.Objects)+0.5))),
		executable:  fmt.Sprintf("%.0f MB", float64(info.Size())/1e6),
	}
}
