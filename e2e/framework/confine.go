package framework

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/example/operator-testbed/e2e/framework/runner"
)

// The environment variables that name the operator under test, and say how it is confined.
const (
	operatorVariable = "OPERATOR"
	confineVariable  = "TESTBED_CONFINE"
)

// confinement says whether the operator under test was built from the tree of the one who runs the suite, and how it is confined if it was
// not: the executable that $OPERATOR names, or an image, may come from anywhere, unless $TESTBED_CONFINE says that it is trusted.
func confinement() (own bool, c runner.Confinement, err error) {
	text := os.Getenv(confineVariable)
	switch {
	case os.Getenv(operatorVariable) == "" && os.Getenv(imagesVariable) == "", text == "no":
		return true, c, nil
	case text == "":
		return false, runner.Confinement{Optional: true, DeclaredPorts: true}, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return false, c, fmt.Errorf(`invalid %s %q: want "no", or limits such as {"memory":402653184}: %w`, confineVariable, text, err)
	}
	return false, c, nil
}
