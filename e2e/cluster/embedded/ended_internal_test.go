package embedded

import (
	"testing"

	"github.com/example/operator-testbed/e2e/cluster/supervisor"
)

// What the components really wrote, except for the length of the stack traces.
const (
	etcdWarning = `{"level":"warn","ts":"2026-11-21T09:29:20.944840Z","caller":"embed/config.go:956","msg":"Running http and grpc server on single port. This is not recommended for production."}
`
	etcdFullDisk = etcdWarning + `{"level":"warn","ts":"2026-11-21T09:29:20.945905Z","caller":"wal/wal.go:147","msg":"failed to preallocate an initial WAL file","path":"data/member/wal.tmp/0000000000000000-0000000000000000.wal","segment-bytes":64000000,"error":"no space left on device"}
{"level":"panic","ts":"2026-11-21T09:29:20.945962Z","caller":"etcdserver/bootstrap.go:679","msg":"failed to create WAL","error":"no space left on device","stacktrace":"go.etcd.io/etcd/server/v3/etcdserver.bootstrapNewWAL\n\tgo.etcd.io"}
panic: failed to create WAL

goroutine 97 [running]:
go.uber.org/zap/zapcore.CheckWriteAction.OnWrite(0x0?, 0x0?, {0x0?, 0x0?, 0x37de18f5ae0?})
main.main()
	go.etcd.io/etcd/server/v3@v3.7.0/main.go:31 +0x28
`
	// The log itself had no room: it ends in the middle of a line.
	etcdCutShort = etcdWarning + `{"level":"error","ts":"2026-11-21T09:28:42.070097Z","logger":`
	etcdPanic    = etcdWarning + `{"level":"panic","ts":"2026-11-21T09:29:20.945962Z","caller":"etcdserver/bootstrap.go:679","msg":"failed to create WAL","error":"permission denied","stacktrace":"go.etcd.io"}
panic: failed to create WAL

goroutine 97 [running]:
main.main()
	go.etcd.io/etcd/server/v3@v3.7.0/main.go:31 +0x28
`
	apiserverPanic = `I1121 09:29:27.148965   32055 options.go:261] external host was not specified, using 192.0.2.2
panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x2a]

goroutine 1 [running]:
main.main()
	k8s.io/kubernetes@v1.37.0/cmd/kube-apiserver/apiserver.go:35 +0x28
`
	apiserverPort = `I1121 09:29:27.148965   32055 options.go:261] external host was not specified, using 192.0.2.2
E1121 09:29:27.149218   32055 run.go:72] "command failed" err="failed to create listener: failed to listen on 127.0.0.1:20000: listen tcp 127.0.0.1:20000: bind: address already in use"
`
)

func TestEnded(t *testing.T) {
	t.Parallel()
	const much = 1 << 40
	exited := supervisor.ExitStatus{Code: 2}
	for _, test := range []struct {
		name      string
		exit      supervisor.ExitStatus
		log       string
		free      uint64
		want      string
		portTaken bool
	}{
		{name: "a full disk, by the log", exit: exited, log: etcdFullDisk, free: much,
			want: "etcd ended with exit code 2: the disk that holds /state/one is full: free some space on it, or set TESTBED_STATE to a directory on another one"},
		{name: "a full disk, by its looks", exit: exited, log: etcdCutShort, free: 9 << 20,
			want: "etcd ended with exit code 2: the disk that holds /state/one is full: free some space on it, or set TESTBED_STATE to a directory on another one"},
		{name: "a panic that etcd logged", exit: exited, log: etcdPanic, free: much,
			want: "etcd ended with exit code 2; its last message is: " + `{"level":"panic","ts":"2026-11-21T09:29:20.945962Z","caller":"etcdserver/bootstrap.go:679","msg":"failed to create WAL","error":"permission denied","stacktrace":"go.etcd.io"}`},
		{name: "any other panic", exit: exited, log: apiserverPanic, free: much,
			want: "etcd ended with exit code 2; its last message is: panic: runtime error: invalid memory address or nil pointer dereference"},
		{name: "an error of Kubernetes", exit: exited, log: apiserverPort, free: much, portTaken: true,
			want: "etcd ended with exit code 2; its last message is: " + `E1121 09:29:27.149218   32055 run.go:72] "command failed" err="failed to create listener: failed to listen on 127.0.0.1:20000: listen tcp 127.0.0.1:20000: bind: address already in use"`},
		{name: "a port that was taken earlier", exit: exited, log: apiserverPort + "Error: unknown flag: --bogus\n", free: much,
			want: "etcd ended with exit code 2; its last message is: Error: unknown flag: --bogus"},
		{name: "nothing said", exit: supervisor.ExitStatus{Code: -1, Signal: "segmentation fault"}, free: much,
			want: "etcd was ended by the signal segmentation fault and said nothing: see whether /assets/etcd is what it should be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ended(Etcd, test.exit, "/assets/etcd", "/state/one", []byte(test.log), test.free)
			if got.Error() != test.want {
				t.Errorf("expected\n%s, got\n%s", test.want, got)
			}
			if got.portTaken != test.portTaken {
				t.Errorf("expected portTaken to be %v, got %v", test.portTaken, got.portTaken)
			}
		})
	}
}

func TestFreeSpace(t *testing.T) {
	t.Parallel()
	if free := freeSpace(t.TempDir()); free == 0 || free > 1<<60 {
		t.Errorf("expected some free space among the temporary files, got %d bytes", free)
	}
	if free := freeSpace("/no/such/directory"); free < etcdSegment {
		t.Errorf("expected a directory that can't be asked not to look full, got %d bytes", free)
	}
}
