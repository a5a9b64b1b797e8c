//go:build !linux

package main

// missingCapabilities returns nothing: only Linux has capabilities.
func missingCapabilities() []string { return nil }
