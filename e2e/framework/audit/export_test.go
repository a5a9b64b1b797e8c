package audit

// Offset is where the mark is in the log.
func (m Mark) Offset() int64 { return m.offset }
