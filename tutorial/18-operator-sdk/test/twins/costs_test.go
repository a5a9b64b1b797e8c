package twins_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/sdk"
	"github.com/example/operator-testbed/e2e/sdk/images"
	"github.com/example/operator-testbed/e2e/tier"
)

var costs = section{
	begins: "<!-- The costs: printed by go test ./tutorial/18-operator-sdk/test/twins -run 'TestLines|TestCosts|TestImages' -update. -->\n",
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
	imageSize     = "size of the image"
	pulledSize    = "size of the image, compressed"
)

var costRows = []string{
	apiLines, behaviorLines, firstTime, allTime, writeCount, cpuTime, firstMemory, peakMemory, oneMemory, executable, imageSize, pulledSize,
}

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
				t.Errorf("%s: %s: the page says %s, and there are %d: go test ./tutorial/18-operator-sdk/test/twins -run TestLines -update", operator.name, row, shown[operator.name][row], lines)
			}
		}
	}
	if *update {
		shown.writeCounts(t, file)
	}
}

// writeCounts writes the table into the page after a row of counts has changed. What the page says about the measurement stays.
func (c costTable) writeCounts(t *testing.T, file string) {
	t.Helper()
	_, text, _ := costs.split(t, file)
	_, measured, _ := strings.Cut(text, "\n\nMeasured ")
	if measured != "" {
		measured = "Measured " + strings.TrimSpace(measured) + "\n"
	}
	c.write(t, file, measured)
}

// TestImages makes the image of each operator, and compares its size with the page's table of costs. Sizes change a little with versions of
// Go and of Debian's packages. The image with Ansible is skipped where "there is no mmdebstrap".
func TestImages(t *testing.T) {
	tier.Nightly(t)
	file, root := page(t)
	for _, operator := range twins {
		t.Run(operator.name, func(t *testing.T) {
			var programs sdk.Tools
			if operator.program != "" {
				programs = sdk.Need(t, root)
			}
			image, err := operator.image(t, programs, root, operator.project(root))
			if err != nil {
				t.Fatal(err)
			}
			unpacked, compressed, err := images.Sizes(image)
			if err != nil {
				t.Fatal(err)
			}
			shown := readCosts(t, file)
			measured := map[string]string{imageSize: megabytes(unpacked), pulledSize: megabytes(compressed)}
			if *update {
				maps.Copy(shown[operator.name], measured)
				shown.writeCounts(t, file)
				return
			}
			for row, size := range measured {
				if !isClose(size, shown[operator.name][row], sizeTolerance) {
					t.Errorf("%s: the page says %s, and it is %s: go test ./tutorial/18-operator-sdk/test/twins -run TestImages -update", row, shown[operator.name][row], size)
				}
			}
		})
	}
}

// megabytes returns what the table shows of a number of bytes.
func megabytes(size int64) string { return fmt.Sprintf("%.0f MB", float64(size)/1e6) }

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

var compare = flag.Bool("compare", false, "measure as many objects as the page's table of costs is about, and compare counts and ratios with it")

// TestCosts measures what each operator takes to create objects. With -update, it writes the page's table. With -compare, it measures as
// many objects, and compares the result with the table. Without either, it measures fewer objects, and compares the size of the executable,
// and the number of writes of those operators for which only a slow cluster changes it.
func TestCosts(t *testing.T) {
	tier.Nightly(t)
	tier.NeedsEmbedded(t)
	file, root := page(t)
	objects := 5
	if *update || *compare {
		objects = 100
	}
	fresh := costTable{}
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
			fresh[operator.name] = figures
			t.Logf("measured %v", figures)
			g := NewWithT(t)
			g.Expect(isClose(figures[executable], shown[operator.name][executable], sizeTolerance)).To(BeTrue(),
				"%s: the page says %s, and it is %s", executable, shown[operator.name][executable], figures[executable])
			if operator.steadyWrites {
				want, err := strconv.ParseFloat(shown[operator.name][writeCount], 64)
				g.Expect(err).NotTo(HaveOccurred())
				// In each second in which pods get ready, it may write that once.
				g.Expect(measured.Writes).To(And(BeNumerically(">=", 2), BeNumerically("<=", want+measured.All.Seconds())),
					"expected what the table in tutorial/18-operator-sdk/helm/README.md says: -update writes it")
			}
			missing := slices.DeleteFunc(slices.Clone(costRows), func(row string) bool {
				figure := shown[operator.name][row]
				return figure != "" && figure != notMeasured
			})
			g.Expect(missing).To(BeEmpty(), "rows of the table without a figure")
		})
	}
	if *compare {
		for _, difference := range readCosts(t, file).differences(fresh) {
			t.Error(difference)
		}
	}
}

// By which factor a figure may differ from the table.
const (
	sizeTolerance   = 1.05
	countTolerance  = 1.25
	cpuTolerance    = 2
	memoryTolerance = 1.5
)

// differences compares the table with a new measurement. Seconds depend on the machine and on what else it does, so they are not
// compared. CPU time and memory are compared as ratios to those of the first operator.
func (c costTable) differences(fresh costTable) (differences []string) {
	first := twins[0].name
	for _, operator := range twins {
		shown, measured := c[operator.name], fresh[operator.name]
		if measured == nil { // it was skipped
			continue
		}
		for _, row := range []struct {
			name      string
			tolerance float64
		}{{writeCount, countTolerance}, {executable, sizeTolerance}} {
			if !isClose(measured[row.name], shown[row.name], row.tolerance) {
				differences = append(differences, fmt.Sprintf("%s: %s: the page says %s, and it is %s", operator.name, row.name, shown[row.name], measured[row.name]))
			}
		}
		if operator.name == first || fresh[first] == nil {
			continue
		}
		for _, row := range []struct {
			name      string
			tolerance float64
		}{{cpuTime, cpuTolerance}, {firstMemory, memoryTolerance}, {peakMemory, memoryTolerance}} {
			want := numberOf(shown[row.name]) / numberOf(c[first][row.name])
			got := numberOf(measured[row.name]) / numberOf(fresh[first][row.name])
			if !within(got, want, row.tolerance) {
				differences = append(differences, fmt.Sprintf("%s: %s: the page says %s, which is %.2g times that of %s, and it is %s, %.2g times",
					operator.name, row.name, shown[row.name], want, first, measured[row.name], got))
			}
		}
	}
	return differences
}

// isClose reports whether two figures differ by less than the factor, or only because they are rounded.
func isClose(a, b string, factor float64) bool {
	x, y := numberOf(a), numberOf(b)
	return math.Abs(x-y) <= 1 && strings.HasSuffix(a, " MB") || within(x, y, factor)
}

// within reports whether two positive numbers differ by at most a factor.
func within(a, b, factor float64) bool { return a > 0 && b > 0 && a/b <= factor && b/a <= factor }

// numberOf returns the number in a figure, or 0 if there is none.
func numberOf(figure string) float64 {
	digits, _, _ := strings.Cut(figure, " ")
	number, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
	if err != nil {
		return 0
	}
	return number
}

// A difference is found in each row that is compared, and none in seconds or where an operator was skipped.
func TestDifferences(t *testing.T) {
	first, other := twins[0].name, twins[2].name
	table := func() costTable {
		figures := func(cpu, writes string) map[string]string {
			return map[string]string{
				allTime: "9 s", writeCount: writes, cpuTime: cpu, firstMemory: "50 MiB", peakMemory: "60 MiB", executable: "55 MB",
			}
		}
		return costTable{first: figures("10 ms", "3.0"), other: figures("1,500 ms", "7.6")}
	}
	for name, test := range map[string]struct {
		change func(costTable)
		want   string
	}{
		"nothing": {func(costTable) {}, ""},
		"a slower machine": {func(c costTable) {
			c[first][cpuTime], c[other][cpuTime], c[other][allTime] = "20 ms", "3,000 ms", "90 s"
		}, ""},
		"a skipped operator":      {func(c costTable) { delete(c, other) }, ""},
		"the first was skipped":   {func(c costTable) { delete(c, first) }, ""},
		"a megabyte":              {func(c costTable) { c[first][executable] = "56 MB" }, ""},
		"twice the writes":        {func(c costTable) { c[other][writeCount] = "15.2" }, "Helm: writes for each of them: the page says 7.6, and it is 15.2"},
		"no writes":               {func(c costTable) { c[first][writeCount] = "0.0" }, "Go by hand: writes for each of them: the page says 3.0, and it is 0.0"},
		"a larger executable":     {func(c costTable) { c[other][executable] = "80 MB" }, "Helm: size of the executable: the page says 55 MB, and it is 80 MB"},
		"a faster operator":       {func(c costTable) { c[other][cpuTime] = "150 ms" }, "Helm: CPU time for each of them: the page says 1,500 ms, which is 1.5e+02 times that of Go by hand, and it is 150 ms, 15 times"},
		"memory":                  {func(c costTable) { c[other][firstMemory] = "100 MiB" }, "Helm: memory with one Memcached: the page says 50 MiB, which is 1 times that of Go by hand, and it is 100 MiB, 2 times"},
		"a figure that is absent": {func(c costTable) { delete(c[other], peakMemory) }, "Helm: peak memory with 101: the page says 60 MiB, which is 1 times that of Go by hand, and it is , 0 times"},
	} {
		fresh := table()
		test.change(fresh)
		if got := strings.Join(table().differences(fresh), "\n"); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
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
		executable:  megabytes(info.Size()),
	}
}
