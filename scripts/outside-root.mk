# What each directory with an operator in it has as its GNUmakefile, which make reads before the Makefile: no target reaches a cluster
# that `make env` has not set, and one that is typed in the wrong directory says where it belongs. A learner's copy has this file and
# go-settings.mk as its GNUmakefile.
include $(firstword $(wildcard ../scripts/go-settings.mk ../../scripts/go-settings.mk))

# `make env` sets both variables, and CLUSTER=existing, in the root, sets the second one after it has asked.
ifeq ($(origin TESTBED_KUBECONFIG)$(KUBECONFIG),environment$(TESTBED_KUBECONFIG))
else ifneq ($(filter install uninstall run deploy undeploy,$(MAKECMDGOALS)),)
$(error KUBECONFIG is not what make env has set, so make $(MAKECMDGOALS) could reach a cluster of yours: type eval "$$(make -s env)" in the root of operator-testbed first)
else
override KUBECONFIG := /not-set-by-make-env
export KUBECONFIG
endif

# Deleting a CustomResourceDefinition deletes its objects, and asks no webhook and no policy. So this asks for those that an annotation
# protects before anything is deleted. FORCE=1 on make's command line deletes them, too.
deleting = $(filter uninstall undeploy,$(MAKECMDGOALS))
ifneq ($(if $(filter command,$(firstword $(origin FORCE))),$(filter-out 1,$(FORCE))$(word 2,$(FORCE))),)
$(error FORCE=$(FORCE) means nothing: use FORCE=1, or leave it out)
endif
ifneq ($(origin FORCE)$(FORCE),command line1)
$(foreach target,$(deleting),$(if $(shell grep -s '^$(target):' Makefile),$(eval $(target): refuse-protected)))
endif

ifneq ($(wildcard Makefile),)
include Makefile
else
.DEFAULT_GOAL := help
endif

.PHONY: refuse-protected
refuse-protected:
	@crds=$$($(KUBECTL) kustomize config/crd | $(KUBECTL) get --ignore-not-found -o name -f -) || exit; \
	set --; for crd in $$crds; do \
		protected=$$($(KUBECTL) get "$${crd#*/}" --all-namespaces -o jsonpath='$(protected-objects)') || exit; \
		set -- "$$@" $$protected; \
	done; \
	[ $$# -gt 0 ] || exit 0; \
	first="$$1$${2:+, $$2}$${3:+, $$3}"; [ $$# -le 3 ] || first="$$first and $$(($$# - 3)) more"; \
	echo "make $(deleting) deletes the CustomResourceDefinition $${crd#*/}, and with it objects that cache.example.com/deletion-protection protects ($$#: $$first): remove the annotation from them, or add FORCE=1" >&2; exit 1
protected-objects = {range .items[?(@.metadata.annotations.cache\.example\.com/deletion-protection=="true")]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}

# In a learner's copy, these are about the copy.
of-copy = $(if $(wildcard .stage),$(if $(filter check hint reset submit,$@), DIR='$(CURDIR)'))

.DEFAULT:
	@echo "there is no target $@ in this directory: type make $@$(of-copy) in the root of operator-testbed" >&2; exit 2
