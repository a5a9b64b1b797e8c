// Package markdown keeps the text of Markdown files true. Every fenced block is of a kind that a machine can check, or says
// why it can't be:
//
//	```console                                commands (`$ `, continued by `> `) and what they print; see Run
//	```go file=PATH decl=NAME                 a declaration of a real file, or a method or field as TYPE.NAME
//	```yaml file=PATH key=spec.versions.0     what a key of a real YAML file holds
//	```make file=PATH from="run:" to="go run" the lines of a real file between two that begin so
//	```dockerfile file=PATH                   a real file, whole
//	```yaml file=PATH broken                  the same, of a file that the next console block shows to be refused
//	```diff from=PATH to=PATH [decl=NAME]     what differs between two files or directories
//	```mermaid                                a diagram
//	```text source="https://…"                a quotation of what is not in the repository
//	```text skip="why no machine can check it" anything else
//
// Paths start at the root of the repository. An excerpt is identical to its file except for indentation that all its lines
// share. Blocks inside an HTML comment are checked, too, and not shown by GitHub: they prepare what the reader has at
// hand, and clean up.
//
// A console block may have these attributes:
//
//	needs=none         what it runs on: none, embedded (the default) or kind; with none it is part of a plain go test
//	terminal=2         in which terminal, 1 if none is named; each is one bash session per file
//	background         its last command goes on while the next blocks run; what it prints up to here is shown
//	exit=1             the exit code of its last command; all others succeed
//	tools=sdk          it needs programs that nothing builds unasked: it is skipped where Options.Missing says so
//	tools=ansible      it needs Ansible as well
//	skip="the reason"  it is not run: counted, listed and few
//
// A line `^C` in a later block of the same terminal interrupts a command in the background; lines before the first
// command of a block are what it has printed since. In what a command prints, `...` on a line of its own stands for any
// number of lines, `…` for anything within a line, and `<number>`, `<hash>`, `<duration>` and `<word>` for what they say.
// Where several blanks are shown, there may be another number of blanks. Of a command without shown output only the exit
// code is checked.
package markdown
