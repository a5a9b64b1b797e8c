package framework

import (
	"fmt"
	"os"
	"time"
)

// timeoutVariable and failingVariable are the environment variables with the time that an assertion waits, and that it waits after a
// failure.
const (
	timeoutVariable = "TESTBED_TIMEOUT"
	failingVariable = "TESTBED_TIMEOUT_FAILING"
)

// timeoutFromEnv returns the duration that an environment variable sets, or otherwise the default.
func timeoutFromEnv(variable string, otherwise time.Duration) (time.Duration, error) {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise, nil
	}
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 {
		return 0, fmt.Errorf("%s=%s is not a duration: give one such as 10s", variable, text)
	}
	return timeout, nil
}

// CheckEnvironment returns an error that names the variable if $TESTBED_SEED, $TESTBED_TIMEOUT or $TESTBED_TIMEOUT_FAILING has an invalid
// value. Suites check this themselves; the function is for programs that compile and start a suite.
func CheckEnvironment() error {
	for _, variable := range []string{timeoutVariable, failingVariable} {
		if _, err := timeoutFromEnv(variable, 0); err != nil {
			return err
		}
	}
	_, err := seedFromEnv()
	return err
}

// Timeouts bound what takes as long as the cluster does, so they are generous: a loaded machine with two cores must not fail a
// healthy operator. Those of the runner are in package runner.
const (
	// Converge is how long an assertion waits for an operator, the scheduler and simulated kubelets to settle, unless
	// $TESTBED_TIMEOUT says otherwise.
	Converge = 60 * time.Second
	// convergeOnNodes is Converge where pods really run: a real kubelet has timers of its own, such as an image pull's back-off.
	convergeOnNodes = 5 * time.Minute
	// requestTimeout is how long a request may take before it counts as one without an answer. It does not shrink with the time that
	// an assertion is given: an answer that is cut off says nothing about the operator.
	requestTimeout = 2 * time.Minute
	// slowest bounds how much longer an assertion waits on a slow machine.
	slowest = 3 * time.Minute
	// recoverTimeout bounds what has to work for a feature to go on, whoever is to blame that it does not. It does not shrink with the
	// time that an assertion is given.
	recoverTimeout = 3 * time.Minute
	// artifactsTimeout bounds what is done for a test that has failed already.
	artifactsTimeout = 2 * time.Minute
	// removeTimeout bounds the clean-up of a cluster that lives on: a namespace goes when everything in it has gone.
	removeTimeout = 2 * time.Minute
)

const (
	// turns is how many times in a row a slow cluster could have started a pod before an assertion gives up. An idle machine starts
	// one in a third of a second.
	turns = 20
	// expectedFailure and expectedTurns stand in for an assertion's timeout and turns once it is wrong in the way that
	// $TESTBED_EXPECTED says: what an operator that is broken on purpose must fail with needs no long wait.
	expectedFailure = 2 * time.Second
	expectedTurns   = 6
	// failingTurns stand in for turns in features that start after one has failed, if $TESTBED_TIMEOUT_FAILING asks for less patience.
	failingTurns = 6
	// askAgain is the pause before what can't be watched is asked again.
	askAgain = 20 * time.Millisecond
)
