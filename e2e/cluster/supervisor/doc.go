// Package supervisor runs a group of host processes that live and die
// together: it starts them, restarts them, signals them, keeps one log for
// each, and sees to it that none of them is left behind, whatever happens to
// the program that asked for them.
//
// The supervisor is the program itself, executed a second time: whoever uses
// this package calls [Main] first thing in main (or TestMain).
//
//	func TestMain(m *testing.M) {
//		supervisor.Main()
//		os.Exit(m.Run())
//	}
//
// [Start] gives a supervisor that is attached: it ends with the calling
// process, also when that is killed, because it holds the other end of a pipe.
// After [Supervisor.Detach] it lives on until somebody who found it with
// [Attach] calls [Supervisor.Shutdown].
//
// Everything about a group is in one directory, its Dir: state.json (who runs),
// control.sock (HTTP, for this package only), lock (held while the supervisor
// lives) and logs/. The directory goes when the group goes.
package supervisor
