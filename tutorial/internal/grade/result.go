// Package grade says what a grade is: the format in which the grade of a submission is stored, and from which all others are computed.
package grade

import "time"

// Schema names the format of [Result].
const Schema = "lab-grade/v1"

// Status is how far the grading of a submission came.
type Status string

const (
	// Graded means that the suite ran, whatever became of its features.
	Graded Status = "graded"
	// NotGradable means that there was nothing to run the suite against, such as a submission that does not compile or whose
	// manifests are refused. The score is 0.
	NotGradable Status = "not_gradable"
	// GraderError means that the grader failed, and not the student. Such a result has no score; it is not a zero.
	GraderError Status = "grader_error"
)

// Outcome is what became of a feature in the eyes of the grader.
type Outcome string

const (
	// Pass means that the feature holds.
	Pass Outcome = "pass"
	// Fail means that it does not.
	Fail Outcome = "fail"
	// Skip means that it could not be tried where the grader runs. It is out of the score.
	Skip Outcome = "skip"
)

// Result is the grade of one submission, in the canonical format, as JSON. All other formats are computed from it. Two runs of one
// grader on one submission with one seed differ in Volatile alone.
type Result struct {
	// Schema is always [Schema].
	Schema string `json:"schema"`
	// Student is the student's id in the class, such as "s07". It is empty outside of a class.
	Student string `json:"student,omitempty"`
	// Stage is the chapter, such as "04-status". Lab is the break-it lab, where the submission is of one.
	Stage string `json:"stage"`
	Lab   string `json:"lab,omitempty"`

	Status Status `json:"status"`
	// Score is the sum of the tests' scores, and MaxScore that of their highest ones, without those that were skipped.
	Score    float64 `json:"score"`
	MaxScore float64 `json:"max_score"`
	// Message is one sentence that says why there is no score, or empty.
	Message string `json:"message"`
	// Tests are the features of the chapter's suite, in the order of their names, and after them the teacher's own.
	Tests []Test `json:"tests"`

	// Isolation says which walls stood between the submission and the grader.
	Isolation Isolation `json:"isolation"`
	// Grader is the commit of the grader, and Submission the hash of what was graded, as "sha256:" and 64 hexadecimal digits.
	Grader     string `json:"grader"`
	Submission string `json:"submission"`
	// Seed is the text from which names, sizes and ports were drawn.
	Seed string `json:"seed"`
	// Volatile is what differs from run to run.
	Volatile Volatile `json:"volatile"`
}

// Test is what became of one feature.
type Test struct {
	// Name is the name of the feature's test function, such as "TestAvailable", and Title the feature's own, in words.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Status is what became of it. Score is between 0 and MaxScore.
	Status   Outcome `json:"status"`
	Score    float64 `json:"score"`
	MaxScore float64 `json:"max_score"`
	// Message says why the feature does not hold, or why it was skipped: expected, and last seen. It has no names of the grader's
	// directories. Step is the claim of the step that failed.
	Message string `json:"message,omitempty"`
	Step    string `json:"step,omitempty"`
	// Extra marks a feature of the teacher's own suite, which students do not have.
	Extra bool `json:"extra,omitempty"`
	// Flaky says that the feature failed once and held when it was tried again, alone. Then it counts as held.
	Flaky bool `json:"flaky,omitempty"`
}

// Isolation says which walls stood between a submission and the grader.
type Isolation struct {
	// Outer is the wall around cluster, suite and operator: "namespaces", "bubblewrap", "container" or "none".
	Outer string `json:"outer"`
	// Inner is the confinement of the operator alone, such as "landlock7+seccomp", or "none".
	Inner string `json:"inner"`
}

// Volatile is what differs between two runs on the same submission.
type Volatile struct {
	// GradedAt is when the grading was over, in UTC, and TookMS how many milliseconds it took.
	GradedAt time.Time `json:"graded_at"`
	TookMS   int64     `json:"took_ms"`
	// CPUMS is the processor time of the suite, its cluster and the operator, in milliseconds, and MemoryBytes their highest sum of
	// resident memory that was seen. Both are 0 where they could not be measured.
	CPUMS       int64 `json:"cpu_ms"`
	MemoryBytes int64 `json:"memory_bytes"`
	// Attempts is how often the suite was run, and Log the file with its output.
	Attempts int    `json:"attempts"`
	Log      string `json:"log,omitempty"`
}
