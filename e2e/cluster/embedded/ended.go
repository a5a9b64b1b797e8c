package embedded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
	"github.com/example/operator-testbed/kind/home"
)

// endedError says that a component ended while something waited for it.
type endedError struct {
	name string
	exit supervisor.ExitStatus
	// reason reads well after how it ended, punctuation included.
	reason string
	// portTaken: somebody else listens on its port.
	portTaken bool
}

func (e *endedError) Error() string { return fmt.Sprintf("%s %s%s", e.name, e.exit, e.reason) }

// etcdSegment is what etcd takes from the disk at a time, in bytes. Where less
// is free it ends, sometimes without room for a line in its log that says so.
const etcdSegment = 64_000_000

// ended makes sense of the end of a component: from its log, and from the free
// bytes of the disk that holds dir, the cluster's folder.
func ended(name string, exit supervisor.ExitStatus, path, dir string, log []byte, free uint64) *endedError {
	e := &endedError{name: name, exit: exit, portTaken: strings.Contains(lastLine(log), "address already in use")}
	switch words := lastWords(log); {
	case free < etcdSegment || bytes.Contains(log, []byte("no space left on device")):
		e.reason = ": " + fullDisk(dir)
	case words == "":
		e.reason = fmt.Sprintf(" and said nothing: see whether %s is what it should be", path)
	default:
		e.reason = "; it said last: " + words
	}
	return e
}

// fullDisk says what it means for the cluster in a folder that its disk is
// full, and what to do.
func fullDisk(dir string) string {
	return fmt.Sprintf("the disk that holds %s is full: make room on it, or set %s to a folder on another one", dir, home.StateVariable)
}

// freeSpace is how many bytes may still be written to the disk that holds a
// folder; where the system can't say, as many as anybody needs.
func freeSpace(dir string) uint64 {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 1 << 62
	}
	return disk.Bavail * uint64(disk.Bsize)
}

// lastWords says in one line what a component's log says about its end: the
// reason of a panic rather than the last line of its stack trace.
func lastWords(log []byte) string {
	var panicked, fatal string
	for line := range bytes.Lines(log) {
		text := string(bytes.TrimSpace(line))
		switch entry, ok := etcdEntry(text); {
		case ok && (entry.Level == "panic" || entry.Level == "fatal"):
			fatal = text
		case strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: "):
			panicked = text
		}
	}
	switch {
	case fatal != "": // etcd says more in its log than in the panic that follows
		return inWords(fatal)
	case panicked != "":
		return panicked
	default:
		return inWords(lastLine(log))
	}
}

// inWords gives the message and the error of a line in a log, without the
// time, the place in the source and the punctuation for machines.
func inWords(line string) string {
	if entry, ok := etcdEntry(line); ok {
		return message(entry.Message, entry.Error)
	}
	rest := klogHeader.ReplaceAllString(line, "")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return rest
	}
	// klog's structured form: "message" key=value err="text"
	text, _ := strconv.Unquote(quoted) // it is quoted: see above
	_, after, _ := strings.Cut(rest[len(quoted):], " err=")
	quoted, _ = strconv.QuotedPrefix(after) // none: there is no error
	reason, _ := strconv.Unquote(quoted)
	return message(text, reason)
}

func message(text, err string) string {
	if err == "" {
		return text
	}
	return text + ": " + err
}

// klogHeader begins the lines of Kubernetes' components: severity and date,
// time, process id, place in the source.
var klogHeader = regexp.MustCompile(`^[IWEF]\d{4} [\d:.]+ +\d+ [^ ]+\] `)

// logEntry is a line of etcd's log.
type logEntry struct {
	Level   string `json:"level"`
	Message string `json:"msg"`
	Error   string `json:"error"`
}

func etcdEntry(line string) (logEntry, bool) {
	var entry logEntry
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &entry) != nil {
		return entry, false
	}
	return entry, entry.Message != ""
}

// lastLine is the last line of a log that is not empty.
func lastLine(log []byte) string {
	log = bytes.TrimSpace(log)
	return string(log[bytes.LastIndexByte(log, '\n')+1:])
}
