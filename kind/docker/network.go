package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// snapshot is how the machine's network is before Docker changes it.
func snapshot(ctx context.Context) (*record, error) {
	forward, err := os.ReadFile(ipForward)
	if err != nil {
		return nil, err
	}
	rules, err := exec.CommandContext(ctx, "iptables-save").Output()
	if err != nil {
		return nil, fmt.Errorf("iptables-save: %w", err)
	}
	return &record{IPForward: strings.TrimSpace(string(forward)), Firewall: string(rules)}, nil
}

// restore takes away what Docker leaves behind when it ends.
func restore(ctx context.Context, before *record) error {
	var failed []error
	rules, err := exec.CommandContext(ctx, "iptables-save").Output()
	if err == nil {
		cmd := exec.CommandContext(ctx, "iptables-restore")
		cmd.Stdin = strings.NewReader(withoutDocker(string(rules), before.Firewall))
		err = cmd.Run()
	}
	if err != nil {
		failed = append(failed, fmt.Errorf("taking Docker's rules out of iptables: %w", err))
	}
	if _, err := os.Stat("/sys/class/net/docker0"); err == nil {
		if output, err := exec.CommandContext(ctx, "ip", "link", "delete", "docker0").CombinedOutput(); err != nil {
			failed = append(failed, fmt.Errorf("removing the network docker0: %w: %s", err, output))
		}
	}
	if err := os.WriteFile(ipForward, []byte(before.IPForward), 0o644); err != nil {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

var (
	// Docker's chains, and its bridges: docker0, br-0123456789ab.
	ofDocker = regexp.MustCompile(`\bDOCKER(-[A-Z0-9-]+)?\b|\b(docker0|br-[0-9a-f]{12})\b`)
	policy   = regexp.MustCompile(`(?m)^:FORWARD (\w+)`)
)

// withoutDocker is what iptables-save prints, without Docker's chains and rules,
// and with the FORWARD policy of before: Docker drops what it does not know.
func withoutDocker(rules, before string) string {
	was := "ACCEPT"
	if found := policy.FindStringSubmatch(filterTable(before)); found != nil {
		was = found[1]
	}
	var kept []string
	table := ""
	for line := range strings.Lines(rules) {
		if strings.HasPrefix(line, "*") {
			table = strings.TrimSpace(line)
		}
		switch {
		case !strings.HasPrefix(line, "#") && ofDocker.MatchString(line):
			continue
		case table == "*filter":
			line = policy.ReplaceAllString(line, ":FORWARD "+was)
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "")
}

// filterTable is the part of iptables-save's output about the filter table.
func filterTable(rules string) string {
	_, rest, _ := strings.Cut(rules, "*filter\n")
	table, _, _ := strings.Cut(rest, "COMMIT")
	return table
}

// unmount unmounts what is mounted below a folder, the innermost first, so that
// removing the folder can't reach into it. Nothing else is unmounted.
func unmount(dir string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	points := mountPoints(string(table), dir)
	for _, point := range slices.Backward(points) {
		// The command rather than the system call: this file compiles on macOS, too.
		if out, err := exec.Command("umount", "--lazy", point).CombinedOutput(); err != nil {
			return fmt.Errorf("unmounting %s: %w: %s", point, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// mountPoints are those below a folder, in the order of their mounting.
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
