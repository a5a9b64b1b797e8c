package isolation

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// hostname is that of all cells.
const hostname = "cell"

// sharedMemory is where programs make memory that they share.
const sharedMemory = "/dev/shm"

// inMemory are the directories that a cell has for itself, and that go with it.
var inMemory = []string{"/tmp", sharedMemory, "/var/tmp", "/run"}

// devices are those that a cell has of this machine's.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// old is where the files of this machine are while the cell is being built.
const old = "/old"

// build builds the cell around this process, which is the first one in new namespaces.
func build(spec specification) error {
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return fmt.Errorf("name the cell: %w", err)
	}
	if err := bringUpLoopback(); err != nil {
		return fmt.Errorf("bring up the loopback interface: %w", err)
	}
	if err := enterRoot(); err != nil {
		return fmt.Errorf("change to a root directory of its own: %w", err)
	}
	for _, dir := range []string{"/proc", "/dev", "/etc"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	limitIDs(spec.Limits.Processes)
	// Where the grader is root, the files in it that change the whole machine, such as core_pattern, belong to this user.
	if err := unix.Mount("", "/proc", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("make /proc read-only: %w", err)
	}
	size := "mode=1777"
	if spec.Limits.Memory > 0 {
		size += ",size=" + strconv.FormatInt(spec.Limits.Memory, 10)
	}
	for _, dir := range inMemory {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, size); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	for _, device := range devices {
		if err := bind(mount{Source: device, Target: device, Writable: true}, 0); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(target, "/dev/"+name); err != nil {
			return err
		}
	}
	for _, m := range spec.Mounts {
		if m.Source == "" {
			if err := mountScratch(m.Target, spec.Limits); err != nil {
				return err
			}
			continue
		}
		if err := bind(m, unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	if err := unix.Unmount(old, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the files of this machine: %w", err)
	}
	if err := os.Remove(old); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("make the root directory read-only: %w", err)
	}
	return os.Chdir("/")
}

// enterRoot makes an empty directory in memory the root, with all of this machine's files below old.
func enterRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	const root = "/tmp" // what is in it is seen again once the new root has moved away
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return err
	}
	if err := os.Mkdir(root+old, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(root, root+old); err != nil {
		return err
	}
	return os.Chdir("/")
}

// bind gives the cell a file or directory of this machine's.
func bind(m mount, attributes uint64) error {
	fail := func(err error) error { return fmt.Errorf("show %s: %w", m.Target, err) }
	source := filepath.Join(old, m.Source)
	info, err := os.Stat(source)
	if err != nil {
		return fail(err)
	}
	// Within a directory that is shown already, it exists.
	if _, err := os.Lstat(m.Target); errors.Is(err, os.ErrNotExist) {
		if err := place(m.Target, info.IsDir()); err != nil {
			return fail(err)
		}
	}
	if err := unix.Mount(source, m.Target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fail(err)
	}
	attributes |= unix.MOUNT_ATTR_NOSUID
	if !m.Writable {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(-1, m.Target, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return fail(err)
	}
	return nil
}

// mountScratch gives the cell a directory in memory. Within a directory that is shown already, it exists.
func mountScratch(dir string, limits Limits) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, scratch(limits)); err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	return nil
}

// scratch are the options of such a directory.
func scratch(limits Limits) string {
	options := "mode=1777,nr_inodes=" + strconv.Itoa(mostScratchFiles)
	if limits.Scratch > 0 {
		options += ",size=" + strconv.FormatInt(limits.Scratch, 10)
	}
	return options
}

// place makes what a file or directory can be mounted on.
func place(target string, directory bool) error {
	if directory {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, nil, 0o600)
}

// bringUpLoopback lets the processes of the cell reach one another, and nobody else.
func bringUpLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
