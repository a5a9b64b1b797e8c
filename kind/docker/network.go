package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
)

// snapshot returns the settings of the machine's network that Docker changes.
func snapshot(ctx context.Context) (*record, error) {
	forward, err := os.ReadFile(ipForward)
	if err != nil {
		return nil, err
	}
	rules, err := output(ctx, "", "iptables", "--list-rules", "FORWARD")
	policy, _, _ := strings.Cut(rules, "\n") // -P FORWARD ACCEPT
	return &record{IPForward: string(forward), ForwardPolicy: policy}, err
}

// restore removes what Docker leaves behind when it exits.
func restore(ctx context.Context, before *record) error {
	rules, err := output(ctx, "", "iptables-save")
	if err != nil {
		return err
	}
	_, err = output(ctx, withoutDocker(rules), "iptables-restore")
	failed := []error{err}
	// Docker drops what it does not know. An engine of an older version of this program has no record of the policy.
	_, err = output(ctx, "", "iptables", strings.Fields(cmp.Or(before.ForwardPolicy, "-P FORWARD ACCEPT"))...)
	failed = append(failed, err)
	if _, err := os.Stat("/sys/class/net/docker0"); err == nil {
		_, err = output(ctx, "", "ip", "link", "delete", "docker0")
		failed = append(failed, err)
	}
	return errors.Join(append(failed, os.WriteFile(ipForward, []byte(before.IPForward), 0o644))...)
}

// ofDocker matches Docker's chains, and its bridges: docker0, br-0123456789ab.
var ofDocker = regexp.MustCompile(`\bDOCKER(-[A-Z0-9-]+)?\b|\b(docker0|br-[0-9a-f]{12})\b`)

// withoutDocker returns rules, as iptables-save prints them, without Docker's chains
// and rules.
func withoutDocker(rules string) string {
	var kept strings.Builder
	for line := range strings.Lines(rules) {
		if !ofDocker.MatchString(line) {
			kept.WriteString(line)
		}
	}
	return kept.String() + "\n"
}

// unmount unmounts what is mounted below a directory, the innermost first, so that
// removing the directory can't remove files from there.
func unmount(ctx context.Context, dir string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	points := mountPoints(string(table), dir)
	for _, point := range slices.Backward(points) {
		// The command instead of the system call, so that this compiles on macOS.
		if _, err := output(ctx, "", "umount", "--lazy", point); err != nil {
			return err
		}
	}
	return nil
}

// mountPoints returns those below a directory, in the order of mounting.
func mountPoints(mountinfo, dir string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	return points
}
