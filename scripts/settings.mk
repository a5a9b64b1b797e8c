# The settings of the targets: docs/settings.md explains them. The line after a setting names the targets that use it; any other target
# refuses it, so that no mistyped setting is ignored in silence. docs/settings_test.go compares this with what each target runs.

# Only values on make's command line count, as in make demo NAME=other. A variable of the environment does not, because other programs
# have variables called NAME (WSL exports it), DEBUG, ARCH or PORT. These are the exceptions.
from-environment = CLUSTER CONTAINER_TOOL IMG KIND_NODE_IMAGE MEMCACHED_IMAGE TESTBED_%

# With -e, the environment would decide after all. The first word of MAKEFLAGS has the options of one letter.
letters := $(filter-out -%,$(firstword $(MAKEFLAGS)))
ifneq ($(findstring e,$(if $(findstring =,$(letters)),,$(letters))),)
$(error make -e takes settings from the environment, where other programs have variables of the same names: leave -e out, also of MAKEFLAGS)
endif

# The cluster, and the operator on it.
NAME = testbed
used-by-NAME = demo up env status logs down install uninstall run deploy undeploy cert-manager learn e2e
# The operator's suite needs real nodes, so it runs on kind unless you say otherwise; everything else needs no Docker.
CLUSTER ?= $(if $(filter e2e,$(MAKECMDGOALS)),$(if $(STAGE),embedded,kind),embedded)
used-by-CLUSTER = demo test test-all up env status logs down install uninstall run deploy undeploy cert-manager learn e2e demo-picture conditions-picture conformance
KUBERNETES =
used-by-KUBERNETES = demo up conformance
STAGE =
used-by-STAGE = test generate manifests build install uninstall run docker-build docker-push docker-buildx build-installer build-chart deploy undeploy eject learn start hint solution diff class-new class-handout class-collect class-serve class-grade class-export class-forget e2e mutants class-proof
DEBUG =
used-by-DEBUG = run
ENABLE_WEBHOOKS =
used-by-ENABLE_WEBHOOKS = demo run
IMG ?=
used-by-IMG = docker-build docker-push docker-buildx build-installer build-bundle deploy
CONFIG =
used-by-CONFIG = build-installer deploy undeploy
ARCH =
used-by-ARCH = docker-build sbom
CONTAINER_TOOL ?=
used-by-CONTAINER_TOOL = docker-build docker-push docker-buildx
PLATFORMS =
used-by-PLATFORMS = docker-buildx bundle check-platforms
KEEP =
used-by-KEEP = e2e
ALL =
used-by-ALL = e2e conformance
SDK =
used-by-SDK = e2e
YES =
used-by-YES = install uninstall run deploy undeploy e2e class-forget docker-up

# What the operators' own Makefiles take, like those of other kubebuilder projects.
KUBECTL =
used-by-KUBECTL = install uninstall deploy undeploy
CONTROLLER_GEN =
used-by-CONTROLLER_GEN = generate manifests build install uninstall deploy build-installer build-chart build-bundle
VERSION =
used-by-VERSION = build-bundle
DIST =
used-by-DIST = build-installer build-chart
ignore-not-found =
used-by-ignore-not-found = uninstall undeploy
# Only on the command line: it deletes what an annotation protects.
FORCE =
used-by-FORCE = uninstall undeploy

# The learner's copy.
DIR =
used-by-DIR = generate manifests build install uninstall run eject learn start check watch hint break reset solution submit class-new class-handout class-collect class-serve class-grade class-export class-forget
ONLY =
used-by-ONLY = check mutation rbac-proof
EXERCISE =
used-by-EXERCISE = hint
TASK =
used-by-TASK = hint
STEP =
used-by-STEP = diff
LAB =
used-by-LAB = break class-new class-handout class-collect class-serve class-grade class-export class-forget
MODULE =
used-by-MODULE = eject

# A class.
FROM =
used-by-FROM = class-new class-collect conformance
AS =
used-by-AS = class-handout class-collect
LAN =
used-by-LAN = class-serve
STUDENT =
used-by-STUDENT = class-grade
J =
used-by-J = class-grade
EXTRA =
used-by-EXTRA = class-grade
FORMAT =
used-by-FORMAT = class-export
COLUMN =
used-by-COLUMN = class-export
OUT =
used-by-OUT = class-export
CLASS_SIZE =
used-by-CLASS_SIZE = class-proof

# The tests.
PART =
used-by-PART = nightly

# Everything else.
ARGS =
used-by-ARGS = logs class-grade mutants mutation soak conformance vulncheck bench-cluster bench-kind bench-operator doctor
C =
used-by-C = logs
PORT =
used-by-PORT = learn class-serve
BASE =
used-by-BASE = learn site site-serve
OPERATOR =
used-by-OPERATOR = conformance
MANIFESTS =
used-by-MANIFESTS = conformance
MAPPING =
used-by-MAPPING = conformance
SAMPLE =
used-by-SAMPLE = conformance
CRDS =
used-by-CRDS = conformance
DB =
used-by-DB = vulncheck
BUNDLE = bin/bundle.tar.gz
used-by-BUNDLE = bundle unbundle
IMAGES =
used-by-IMAGES = bundle

comma = ,

# Variables that the programs read, and make only passes on: those for users, and those that programs set for each other. Other
# variables called TESTBED_* are mistakes.
testbed-variables = TESTBED_ARTIFACTS TESTBED_ASSETS TESTBED_CACHE TESTBED_CLUSTER TESTBED_DOWNLOAD TESTBED_EXPECTED TESTBED_FAILURES TESTBED_GOFLAGS \
	TESTBED_KUBECONFIG TESTBED_MIRROR TESTBED_REPORT TESTBED_SEED TESTBED_STATE TESTBED_TIER TESTBED_TIMEOUT TESTBED_TIMEOUT_FAILING
internal-variables = TESTBED_CLEANS TESTBED_CONFINE TESTBED_EVENTS TESTBED_GO TESTBED_GO_PROFILE TESTBED_IMAGES TESTBED_MUTANT TESTBED_OVERLAY TESTBED_POOL TESTBED_PROSE TESTBED_REAPS \
	TESTBED_REPRESENTS TESTBED_RUNS TESTBED_SELECTION TESTBED_SUPERVISES TESTBED_TESTS TESTBED_TESTS_KEY TESTBED_TMPDIR TESTBED_TRACEE TESTBED_WATCHED
passed-on = $(testbed-variables) $(internal-variables) KIND_NODE_IMAGE MEMCACHED_IMAGE KUBECONFIG CI DEBIAN_MIRROR PATH HOME TMPDIR SHELL GO% KIND_% DOCKER_% \
	%_PROXY %_proxy

settings := $(patsubst used-by-%,%,$(filter used-by-%,$(.VARIABLES)))

# What was typed and is not used stops the make that it was typed for. That one passes its settings on to those that it calls. Where no
# target has that name, make's own message is better.
ifeq ($(MAKELEVEL),0)
typed := $(foreach variable,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(variable)))),$(variable)))
goals := $(or $(MAKECMDGOALS),first-steps)
used := $(sort $(foreach setting,$(settings),$(if $(filter $(goals),$(used-by-$(setting))),$(setting))))
unused := $(filter-out $(used) $(passed-on),$(typed))
ifneq ($(unused),)
targets := $(shell sed -n 's/^\.PHONY: //p' Makefile)
$(if $(filter-out $(targets),$(goals)),,$(error make $(goals) takes no $(firstword $(unused))$(if $(used),: its settings are $(used); docs/settings.md explains them,$(comma) nor any other setting; docs/settings.md lists them)))
endif
exported := $(foreach variable,$(filter TESTBED_%,$(.VARIABLES)),$(if $(filter environment,$(firstword $(origin $(variable)))),$(variable)))
$(foreach variable,$(filter-out $(testbed-variables) $(internal-variables),$(exported)),$(warning the testbed reads no variable $(variable), which your shell exports: docs/settings.md lists those that it reads))
endif

# Recipes hand settings to a shell between apostrophes, so no value may end that, or the line. These hold words for the shell anyway.
shell-words = ARGS KUBECTL CONTROLLER_GEN
define newline


endef
$(foreach setting,$(filter-out $(shell-words),$(settings)),$(if $(findstring ',$($(setting))),$(error $(setting)=$($(setting)) has an apostrophe, which make can't pass to a shell: use a value without one)))
$(foreach setting,$(settings),$(if $(findstring $(newline),$($(setting))),$(error $(setting)=$($(setting)) has a line break: use a value without one)))

# A name may be part of a command without apostrophes.
in-names = a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9 -
without = $(if $1,$(call without,$(wordlist 2,$(words $1),$1),$(subst $(firstword $1),,$2)),$2)
ifneq ($(words $(NAME))$(strip $(filter -% %-,$(NAME))$(call without,$(in-names),$(NAME))),1)
$(error NAME=$(NAME) is not a name for a cluster: use lower-case letters, digits and '-', and begin and end with a letter or a digit)
endif
# The operators' Makefiles use these in commands without apostrophes, as those of other kubebuilder projects do.
$(foreach setting,ARCH ignore-not-found,$(if $(word 2,$($(setting)))$(call without,$(in-names),$($(setting))),$(error $(setting)=$($(setting)) has more than lower-case letters and digits in it: use $(if $(filter ARCH,$(setting)),ARCH=arm64,$(setting)=true) or the like)))

ifneq ($(filter-out yes,$(ALL))$(word 2,$(ALL)),)
$(error ALL=$(ALL) means nothing: use ALL=yes, or leave it out)
endif
ifneq ($(filter-out yes,$(SDK))$(word 2,$(SDK)),)
$(error SDK=$(SDK) means nothing: use SDK=yes, or leave it out)
endif
ifneq ($(filter-out 1,$(FORCE))$(word 2,$(FORCE)),)
$(error FORCE=$(FORCE) means nothing: use FORCE=1, or leave it out)
endif
