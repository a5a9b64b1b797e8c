# Deleting a CustomResourceDefinition deletes its objects, and asks no webhook and no policy. So uninstall and undeploy first look for those
# that an annotation protects, and refuse. FORCE=1 on make's command line deletes them, too. Each operator's GNUmakefile includes this, and
# a copy of an operator has it in its GNUmakefile.
deleting = uninstall undeploy
ifneq ($(if $(filter command,$(firstword $(origin FORCE))),$(filter-out 1,$(FORCE))$(word 2,$(FORCE))),)
$(error FORCE=$(FORCE) means nothing: use FORCE=1, or leave it out)
endif
ifneq ($(origin FORCE)$(FORCE),command line1)
$(foreach target,$(deleting),$(if $(shell grep -s '^$(target):' Makefile),$(eval $(target): refuse-protected)))
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
	echo "make $(or $(filter $(deleting),$(MAKECMDGOALS)),$(MAKECMDGOALS)) deletes the CustomResourceDefinition $${crd#*/}, and with it objects that cache.example.com/deletion-protection protects ($$#: $$first): remove the annotation from them, or add FORCE=1" >&2; exit 1
protected-objects = {range .items[?(@.metadata.annotations.cache\.example\.com/deletion-protection=="true")]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}
