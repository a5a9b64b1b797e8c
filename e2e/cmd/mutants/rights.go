package main

import "github.com/example/operator-testbed/e2e/mutant"

// withoutEachRight returns the operator without each of its rights.
func withoutEachRight(root, folder string) ([]mutant.Mutant, error) {
	rights, err := mutant.Rights(root, folder)
	mutants := make([]mutant.Mutant, len(rights))
	for i, right := range rights {
		mutants[i] = right.Lacking
	}
	return mutants, err
}
