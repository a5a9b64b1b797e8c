# How everything here is compiled, whatever a profile, `go env -w` or a go.work in a directory above says: the root's Makefile, and
# the GNUmakefile of each operator and of each learner's copy, export it to every command that they run. e2e/host/gocommand does the same
# for programs that run the Go command.

# What it replaces is for make doctor to name.
ifeq ($(origin TESTBED_GO_PROFILE)$(filter-out 0,$(MAKELEVEL)),undefined)
semicolon := ;
export TESTBED_GO_PROFILE := $(foreach name,GOFLAGS GO111MODULE GOWORK GOOS GOARCH GOROOT GOAMD64 GOARM64 GOEXPERIMENT,$(if $(filter environment,$(origin $(name))),$(if $($(name)),$(name)=$($(name))$(semicolon))))
endif

# Modules are never part of a workspace, and their requirements are those of their go.mod.
export GOWORK = off
export GO111MODULE = on

# The flags that Kubernetes is built with (kind/build), because the build cache holds a package once for each set of flags. Without the
# commit in it, an executable changes only when the code does. Debug information is for debuggers: make run DEBUG=1 builds it in.
# TESTBED_GOFLAGS has more flags.
export GOFLAGS = -trimpath -buildvcs=false -gcflags=all=-dwarf=false$(if $(TESTBED_GOFLAGS), $(TESTBED_GOFLAGS))

# No C compiler is needed, and none is used if there is one, so that the executables are the same everywhere.
export CGO_ENABLED = 0

# Programs are for this machine. The Go command itself knows what that is, and is asked outside any module, because a go.mod can make it
# download another Go.
this-machine := $(shell cd / && unset GOROOT GOFLAGS GO111MODULE GOWORK && GOTOOLCHAIN=local go env GOHOSTOS GOHOSTARCH 2>/dev/null)
ifneq ($(this-machine),)
export GOOS := $(word 1,$(this-machine))
export GOARCH := $(word 2,$(this-machine))
endif
unexport GOROOT GOAMD64 GOARM64 GOEXPERIMENT

# What a profile, or git while it runs a hook, exports, and what would lead scripts and git to other files.
unexport BASH_ENV ENV SHELLOPTS BASHOPTS CDPATH GREP_OPTIONS
unexport GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY

# The path of this directory is part of many commands, and of what make reads as its own language.
$(foreach character,' " ` $$ \,$(if $(findstring $(character),$(CURDIR)),$(error the path of this directory, $(CURDIR), has $(character) in it, which make can't pass to a shell: give it a path without)))
