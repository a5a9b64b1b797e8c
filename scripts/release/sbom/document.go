package main

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// unknown is the value of SPDX for what was not determined.
const unknown = "NOASSERTION"

// documentOf returns the SPDX document of an executable with this SHA-256 sum.
func documentOf(name, sum string, info *debug.BuildInfo) *spdx.Document {
	executable := packageOf(info.Main)
	executable.PackageFileName = name
	executable.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
	document := &spdx.Document{
		SPDXVersion:       spdx.Version,
		DataLicense:       spdx.DataLicense,
		SPDXIdentifier:    "DOCUMENT",
		DocumentName:      name,
		DocumentNamespace: "https://" + info.Main.Path + "/sbom/" + sum,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "operator-testbed-sbom"}},
			Created:  "1970-01-01T00:00:00Z", // the same for the same executable
		},
		Packages:      []*spdx.Package{executable},
		Relationships: []*spdx.Relationship{related("DOCUMENT", "DESCRIBES", executable.PackageSPDXIdentifier)},
	}
	modules := []debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		modules = append(modules, *module)
	}
	for _, module := range modules {
		p := packageOf(module)
		document.Packages = append(document.Packages, p)
		document.Relationships = append(document.Relationships, related(executable.PackageSPDXIdentifier, "DEPENDS_ON", p.PackageSPDXIdentifier))
	}
	return document
}

func packageOf(module debug.Module) *spdx.Package {
	url := "pkg:golang/" + module.Path
	if module.Version != "" && module.Version != "(devel)" {
		url += "@" + strings.ReplaceAll(module.Version, "+", "%2B")
	}
	p := &spdx.Package{
		PackageName:               module.Path,
		PackageSPDXIdentifier:     identifier(module.Path),
		PackageVersion:            module.Version,
		PackageDownloadLocation:   unknown,
		PackageLicenseConcluded:   unknown,
		PackageLicenseDeclared:    unknown,
		PackageCopyrightText:      unknown,
		PackageExternalReferences: []*spdx.PackageExternalReference{{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: url}},
	}
	if module.Sum != "" {
		p.PackageSourceInfo = fmt.Sprintf("the module's go.sum line has %s", module.Sum)
	}
	return p
}

// illegal matches characters that the identifier of an SPDX element must not have.
var illegal = regexp.MustCompile(`[^a-zA-Z0-9.-]`)

func identifier(path string) common.ElementID {
	return common.ElementID("Module-" + illegal.ReplaceAllStringFunc(path, func(s string) string { return fmt.Sprintf("-%x-", s) }))
}

func related(from common.ElementID, how string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: how}
}
