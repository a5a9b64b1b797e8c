package operators

import "time"

// Result is what one subject took for one number of objects.
type Result struct {
	// Subject is its name.
	Subject string `json:"subject"`
	// Objects is how many were created, all at once.
	Objects int `json:"objects"`
	// PodsReadyAfter is how long each pod took until it was ready; zero if the nodes did not wait.
	PodsReadyAfter time.Duration `json:"podsReadyAfter,omitempty"`
	// Available is the time from the first request until all of them were Available.
	Available time.Duration `json:"available"`
	// Scale is a change of all sizes at once, and Rollout one of all pod templates, as kubectl rollout restart makes it.
	Scale   Phase `json:"scale"`
	Rollout Phase `json:"rollout"`

	// The rest is of operators: a floor has none of it.

	// Requests are counted by verb, from the first object's creation until quiet; events and leases are left out, as they
	// are everywhere below.
	Requests map[string]int `json:"requests,omitempty"`
	// WritesMean and WritesMax are of one object.
	WritesMean float64 `json:"writesMean"`
	WritesMax  int     `json:"writesMax"`
	// Conflicts are requests that were answered with 409.
	Conflicts int `json:"conflicts"`
	// QuietWrites came while nobody changed anything, RestartWrites after a restart of the operator.
	QuietWrites   int `json:"quietWrites"`
	RestartWrites int `json:"restartWrites"`
	// Reconciles is how many times the reconciler was called until quiet, for each object.
	Reconciles float64 `json:"reconciles"`
	// FalseAvailable is how many times a status said Available=True with fewer ready pods than asked for, or with fewer that the
	// Deployment had counted.
	FalseAvailable int `json:"falseAvailable"`
	// CPU is the processor time that the operator took for all of this, until it was restarted.
	CPU time.Duration `json:"cpu"`
	// PeakMemory is the most resident memory that it was seen with, in MiB.
	PeakMemory float64 `json:"peakMemory"`
	// MemoryLimit is the memory limit of the manager's container in the operator's manifests, in MiB; zero if it has none.
	MemoryLimit float64 `json:"memoryLimit,omitempty"`
	// Heap is what was live on its heap after the restart, in MiB, as the Go runtime reports it.
	Heap float64 `json:"heap"`
	// ForeignHeap is how much more was alive, in MiB, when there were Foreign Deployments of others.
	ForeignHeap float64 `json:"foreignHeap,omitempty"`
	Foreign     int     `json:"foreign,omitempty"`
	// Repairs are the times from a change of a Deployment until it was undone.
	Repairs []time.Duration `json:"repairs,omitempty"`
}

// Phase is what one change of all objects took.
type Phase struct {
	// Time is from the first request until all Deployments had their pods, and no Memcached was behind.
	Time time.Duration `json:"time"`
	// WritesMean and WritesMax are those of the operator, or of the floor, for one object.
	WritesMean float64 `json:"writesMean"`
	WritesMax  int     `json:"writesMax"`
}

// operator says that the result is of an operator, not of the floor.
func (r Result) operator() bool { return r.Requests != nil }
