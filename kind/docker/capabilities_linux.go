package main

import "golang.org/x/sys/unix"

// missingCapabilities returns the capabilities that the kernel knows and that no
// process here can have, because they are not in the bounding set.
func missingCapabilities() []string {
	var missing []string
	for number, name := range capabilities {
		if isSet, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(number), 0, 0, 0); err == nil && isSet == 0 {
			missing = append(missing, "CAP_"+name)
		}
	}
	return missing
}
