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
	"strconv"
	"strings"
	"syscall"
)

// wrapperName is the name under which this program is a container runtime. On a
// machine whose capability bounding set is not full, `docker run --privileged`
// fails: Docker asks for every capability, and runc can't give what it does not
// have. The wrapper takes the ones that the machine lacks out of what Docker asks
// for, and lets runc do the rest.
const wrapperName = "runc-bounded"

// capabilities are Linux's, in the order of their numbers.
var capabilities = strings.Fields(`
	CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
	LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK
	IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
	SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE
	AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND
	AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// missingCapabilities are those that the kernel knows and this process can never
// have.
func missingCapabilities() ([]string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	last, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return nil, err
	}
	return missingIn(string(status), strings.TrimSpace(string(last)))
}

// missingIn reads the bounding set out of /proc/self/status. last is the number of
// the kernel's last capability.
func missingIn(status, last string) ([]string, error) {
	highest, err := strconv.Atoi(last)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(status, "CapBnd:")
	set, _, _ := strings.Cut(rest, "\n")
	bounds, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
	if err != nil {
		return nil, fmt.Errorf("reading the capability bounding set: %w", err)
	}
	var missing []string
	for number, name := range capabilities {
		if number <= highest && bounds>>number&1 == 0 {
			missing = append(missing, "CAP_"+name)
		}
	}
	return missing, nil
}

// wrapRuntime runs runc in the place of this process. It returns only an error.
func wrapRuntime(args []string) error {
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	missing, err := missingCapabilities()
	if err != nil {
		return err
	}
	if spec := specFile(args); spec != "" && len(missing) > 0 {
		if err := bound(spec, missing); err != nil {
			return fmt.Errorf("taking capabilities out of %s: %w", spec, err)
		}
	}
	return syscall.Exec(runc, append([]string{"runc"}, args...), os.Environ())
}

// specFile is the file in which a call of runc finds the capabilities, or empty.
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

// bound rewrites a container's or a process's specification without some
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
	decoder.UseNumber() // limits may be larger than a float64 can tell apart
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
			return nil, errors.New("the capabilities are no lists of names")
		}
		sets[name] = slices.DeleteFunc(list, func(capability any) bool {
			name, _ := capability.(string)
			return slices.Contains(missing, name)
		})
	}
	return json.Marshal(content)
}
