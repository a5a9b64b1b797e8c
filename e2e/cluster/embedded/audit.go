package embedded

import _ "embed"

//go:embed audit-policy.yaml
var auditPolicy []byte
