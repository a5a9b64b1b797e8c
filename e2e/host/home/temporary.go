package home

import (
	"cmp"
	"os"
)

// TemporaryVariable names the directory of the temporary files that outlive a test, such as the evidence of a failure. It is set where
// $TMPDIR is removed with the test.
const TemporaryVariable = "TESTBED_TMPDIR"

// Temporary returns the directory of the temporary files that outlive this program.
func Temporary() string { return cmp.Or(os.Getenv(TemporaryVariable), os.TempDir()) }
