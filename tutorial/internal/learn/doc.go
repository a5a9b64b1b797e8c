// Package learn serves the tutorial's pages on the learner's machine, with the learner's cluster beside the text.
//
// A page shows one [State], which is sent whole whenever it changes, and has buttons for a few named actions. Nothing that a page
// sends is ever a command or a path.
package learn
