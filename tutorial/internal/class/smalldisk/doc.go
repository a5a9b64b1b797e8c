// Package smalldisk lets tests fill a disk that is really too small, which they mount where nobody else sees it.
package smalldisk
