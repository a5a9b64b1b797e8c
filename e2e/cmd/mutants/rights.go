package main

// roles are the files that grant the operator its rights.
var roles = []string{
	"operator/config/rbac/role.yaml",
	"operator/config/rbac/leader_election_role.yaml",
	"operator/config/rbac/metrics_auth_role.yaml",
	"operator/config/certificates/role.yaml",
	"operator/config/certificates/webhook_role.yaml",
}

// needs names, for each right that the operator needs after it got ready, a test of the suite that fails without.
var needs = map[string]string{
	"deployments create":           "TestSize",
	"deployments get":              "TestStranger",
	"deployments patch":            "TestRepair",
	"deployments delete":           "TestRepair", // to put back an owner reference that blocks the owner's deletion
	"memcacheds get":               "TestRepair", // before it creates a Deployment again
	"memcacheds watch":             "TestSize",
	"deployments watch":            "TestRepair",
	"replicasets watch":            "TestNodes",
	"pods watch":                   "TestNodes",
	"memcacheds/finalizers update": "TestSize",
	"memcacheds/status patch":      "TestSize",
	"events create":                "TestFailingImage",
	"events patch":                 "TestFailingImage",
	"tokenreviews create":          "TestMetricsAccess",
	"subjectaccessreviews create":  "TestMetricsAccess",
}
