// Package panel is the part of a chapter's page that is alive: what the learner's cluster and operator do, and buttons for what can be
// done about it.
//
// It is a script and a style sheet without anything from elsewhere. They fill the page's element with the id learn, from the stream at
// /-/stream and with the actions at /-/do/, whose values package learn defines. Everything that comes from a cluster becomes text, never
// markup. Neither uses inline scripts or styles, so the strictest policy lets both work.
package panel

import "embed"

// Files are panel.js and panel.css.
//
//go:embed panel.js panel.css
var Files embed.FS
