package learn

import "time"

// State is everything that the panel beside a chapter shows. It is sent whole each time something changes, because then a browser that
// was away has missed nothing.
type State struct {
	// Chapter is the chapter that the server was started with, such as "03-controller", and Dir the learner's copy, if there is one.
	Chapter string `json:"chapter"`
	Dir     string `json:"dir"`

	Cluster  Cluster  `json:"cluster"`
	Operator Operator `json:"operator"`
	Task     Task     `json:"task"`

	// Objects are those that nobody owns. More counts those that are left out.
	Objects  []Object   `json:"objects"`
	More     int        `json:"more"`
	Events   []Event    `json:"events"`
	Writes   []Write    `json:"writes"`
	Actions  []Action   `json:"actions"`
	Progress []Progress `json:"progress"`
	Labs     []Lab      `json:"labs"`
}

// The states of a cluster and of an operator.
const (
	Absent   = "absent"
	Starting = "starting"
	Running  = "running"
	Stopping = "stopping"

	Stopped  = "stopped"
	Building = "building"
	Exited   = "exited"
)

// Where the code of a running operator is from.
const (
	FromChapter  = "chapter"
	FromCopy     = "copy"
	FromFinished = "finished"
)

// Cluster is the learner's cluster. Message says what is missing, or what it waits for.
type Cluster struct {
	State   string `json:"state"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Operator is the operator that this server runs, with the last lines of its log.
type Operator struct {
	State   string   `json:"state"`
	Source  string   `json:"source"`
	Log     []string `json:"log"`
	Message string   `json:"message"`
}

// Task is what the server does, or did last, because of a button. There is one at a time.
type Task struct {
	Action   string    `json:"action"`
	Running  bool      `json:"running"`
	Line     string    `json:"line"`
	Error    string    `json:"error"`
	Features []Feature `json:"features"`
	Passed   int       `json:"passed"`
	Of       int       `json:"of"`
	Hint     string    `json:"hint"`
}

// The outcomes of a feature. Running is one, too.
const (
	Waiting = "waiting"
	Passed  = "passed"
	Failed  = "failed"
	Skipped = "skipped"
)

// Feature is a test of the chapter's suite. A failed one says what was expected and seen, and at which step.
type Feature struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Outcome  string `json:"outcome"`
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
	Step     string `json:"step"`
	Hint     string `json:"hint"`
}

// How an object is.
const (
	Good        = "good"
	Progressing = "progressing"
	Bad         = "bad"
	None        = "none"
)

// Object is an object of the cluster, and those that it owns. More counts the children that are left out.
type Object struct {
	ID         string      `json:"id"`
	Kind       string      `json:"kind"`
	Name       string      `json:"name"`
	Namespace  string      `json:"namespace"`
	State      string      `json:"state"`
	Health     string      `json:"health"`
	Conditions []Condition `json:"conditions"`
	Children   []Object    `json:"children"`
	More       int         `json:"more"`
}

// Condition is a condition of an object.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"`
}

// Event is an event about one of the objects. The newest is the first.
type Event struct {
	At      time.Time `json:"at"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Object  string    `json:"object"`
	Message string    `json:"message"`
	Count   int       `json:"count"`
}

// Write is a request of the operator's that changes something, from the audit log. The newest is the first.
type Write struct {
	At          time.Time `json:"at"`
	Verb        string    `json:"verb"`
	Object      string    `json:"object"`
	Subresource string    `json:"subresource"`
	Code        int       `json:"code"`
}

// Action is something that a button does. Why says what is missing while it is not enabled. One with a Chapter is for that chapter's page
// only, which is the one of the learner's copy.
type Action struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	Why     string `json:"why"`
	Chapter string `json:"chapter"`
}

// The kinds of [Progress].
const (
	KindChapter = "chapter"
	KindLab     = "lab"
)

// Progress is how far the learner has come with a chapter or a lab.
type Progress struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Kind   string `json:"kind"`
	Done   bool   `json:"done"`
	Passed int    `json:"passed"`
	Of     int    `json:"of"`
}

// Lab is something that can be broken: a break-it lab of a chapter, or [CrashingPods], which has none.
type Lab struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Chapter string `json:"chapter"`
}

// CrashingPods is the name of what breaks the pods, and not the operator.
const CrashingPods = "crashing-pods"
