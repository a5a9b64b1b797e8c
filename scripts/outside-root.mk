# What each directory with an operator in it has as its GNUmakefile, which make reads before the Makefile: no target reaches a cluster
# that `make env` has not set, and one that is typed in the wrong directory says where it belongs. A learner's copy has this file,
# go-settings.mk and protected.mk as its GNUmakefile.
ifeq ($(wildcard .stage),)
include $(firstword $(wildcard ../scripts/go-settings.mk ../../scripts/go-settings.mk))
include $(firstword $(wildcard ../scripts/protected.mk ../../scripts/protected.mk))
endif

# `make env` sets both variables, and CLUSTER=existing, in the root, sets the second one after it has asked.
ifeq ($(origin TESTBED_KUBECONFIG)$(KUBECONFIG),environment$(TESTBED_KUBECONFIG))
else ifneq ($(filter install uninstall run deploy undeploy,$(MAKECMDGOALS)),)
$(error KUBECONFIG is not what make env has set, so make $(MAKECMDGOALS) could reach a cluster of yours: type eval "$$(make -s env)" in the root of operator-testbed first)
else
override KUBECONFIG := /not-set-by-make-env
export KUBECONFIG
endif

ifneq ($(wildcard Makefile),)
include Makefile
else
.DEFAULT_GOAL := help
endif

# In a learner's copy, these are about the copy.
of-copy = $(if $(wildcard .stage),$(if $(filter check hint reset submit,$@), DIR='$(CURDIR)'))

# What was set on make's command line belongs to the command that is to be typed.
empty =
space = $(empty) $(empty)
given = $(strip $(foreach setting,STAGE DIR LAB TASK EXERCISE ONLY CLUSTER NAME,$(if $(findstring command,$(origin $(setting))),$(setting)=$(if $(findstring $(space),$($(setting))),'$($(setting))',$($(setting))))))
settings = $(if $(given), $(given))

.DEFAULT:
	@echo "there is no target $@ in this directory: type make $@$(settings)$(if $(findstring DIR=,$(settings)),,$(of-copy)) in the root of operator-testbed" >&2; exit 2
