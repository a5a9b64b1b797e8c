package main

// lastLines returns the lines that a plan ends with, about what its tests have proven and what they have not. It reads the files with the
// events of the plan's tests. An error makes the run fail.
func lastLines(_ string, _ []string) ([]string, error) { return nil, nil }
