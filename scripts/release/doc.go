// Package release tests what a release promises: see SECURITY.md.
package release
