package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// wrapperName is the name under which this program is a container runtime. On a
// machine whose capability bounding set is not full, `docker run --privileged`
// fails: Docker 20.10, which Debian 12 has, asks for every capability, and runc
// can't give what it does not have. The wrapper removes the capabilities that the
// machine lacks from the container's specification, and runs runc.
const wrapperName = "runc-bounded"

// capabilities are those of Linux, in the order of their numbers.
var capabilities = strings.Fields(`
	CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
	LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK
	IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
	SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE
	AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND
	AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// wrapRuntime replaces this process by runc. It returns only if that fails.
func wrapRuntime(args []string) error {
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	if spec := specFile(args); spec != "" {
		if err := bound(spec, missingCapabilities()); err != nil {
			return fmt.Errorf("remove capabilities from %s: %w", spec, err)
		}
	}
	return syscall.Exec(runc, append([]string{"runc"}, args...), os.Environ())
}

// specFile returns the file from which a call of runc reads the capabilities, or "".
func specFile(args []string) string {
	value := func(names ...string) string {
		for i, arg := range args {
			for _, name := range names {
				if after, ok := strings.CutPrefix(arg, name+"="); ok {
					return after
				}
				if arg == name && i+1 < len(args) {
					return args[i+1]
				}
			}
		}
		return ""
	}
	for _, arg := range args {
		switch arg {
		case "create", "run":
			return filepath.Join(value("--bundle", "-b"), "config.json")
		case "exec":
			return value("--process", "-p")
		}
	}
	return ""
}

// bound rewrites the specification of a container or of a process without some
// capabilities.
func bound(file string, missing []string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	data, err = withoutCapabilities(data, missing)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

func withoutCapabilities(spec []byte, missing []string) ([]byte, error) {
	var content map[string]any
	decoder := json.NewDecoder(bytes.NewReader(spec))
	decoder.UseNumber() // a float64 would round large limits
	if err := decoder.Decode(&content); err != nil {
		return nil, err
	}
	process := content
	if inner, ok := content["process"].(map[string]any); ok {
		process = inner
	}
	sets, ok := process["capabilities"].(map[string]any)
	if !ok {
		return spec, nil
	}
	for name, set := range sets {
		list, ok := set.([]any)
		if !ok {
			return nil, errors.New("the capabilities are not lists of names")
		}
		sets[name] = slices.DeleteFunc(list, func(capability any) bool {
			name, _ := capability.(string)
			return slices.Contains(missing, name)
		})
	}
	return json.Marshal(content)
}
