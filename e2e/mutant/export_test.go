package mutant

// EnvOf is the environment that a trial gives its suite.
func EnvOf(t *Trial) []string { return t.env }
