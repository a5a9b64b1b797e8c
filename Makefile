# `make` without a target prints the first ones to try. Every target acts on the testbed's own clusters and kubeconfig, and on yours
# only with CLUSTER=existing, which asks first.
#
# Works with GNU make 3.81 (macOS) and later, and needs Go, make and git.

# What you can set, and with what each target can be called: see docs/settings.md.
include scripts/settings.mk
include scripts/go-settings.mk

# `eval "$(make env)"` must see nothing but what the recipe prints.
MAKEFLAGS += --no-print-directory

TESTBED = bin/testbed
TESTBED_NAMED = $(TESTBED) --name=$(NAME) $(on-kind)

CLUSTERS = embedded kind existing

# The version of Kubernetes that a new embedded cluster runs.
version = $(if $(KUBERNETES),--kubernetes='$(KUBERNETES)')

# The operator that a target works on: the finished one, or a chapter's.
PROJECT = $(if $(STAGE),$(shell scripts/stage operator $(STAGE)),operator)
# A learner's copy of one, in DIR, has the targets that a chapter has.
COPY_OR_PROJECT = '$(if $(and $(DIR),$(STAGE)),$(error DIR=$(DIR) is a copy that knows its chapter: leave STAGE=$(STAGE) out),$(or $(DIR),$(PROJECT)))'
STAGES = $(patsubst tutorial/%/chapter.yaml,%,$(sort $(wildcard tutorial/*/chapter.yaml)))

# Calls the operator's own Makefile with our kubectl and kubeconfig. With CLUSTER=existing it is yours, and you are asked first.
on-existing = $(filter existing,$(CLUSTER))
on-kind = $(filter kind,$(CLUSTER))
# What becomes of what is there is shown, too.
what-for = $(if $(filter install uninstall deploy undeploy e2e,$@),--before=$@ --operator=$(works-on) $(if $(filter $@,$(used-by-FORCE)),$(if $(FORCE),--force='$(FORCE)')))
confirm = $(if $(on-existing),$(TESTBED) confirm $(what-for) &&)
on-cluster = $(if $(on-existing),TESTBED_KUBECONFIG="$$KUBECONFIG",env=$$($(TESTBED_NAMED) env) && eval "$$env" &&)
with-cluster = $(confirm) $(on-cluster)

.DEFAULT_GOAL := first-steps

##@ Begin here

.PHONY: demo
demo: embedded-cluster $(TESTBED) ## Start a cluster, run the operator, and show a Memcached become Available. Everything keeps running.
	@$(TESTBED_NAMED) demo $(version)

.PHONY: test
test: embedded-cluster legal-stage $(TESTBED) ## Run the unit tests, and all suites on embedded clusters. STAGE=NN-name: only those of one chapter.
	@scripts/run test $(STAGE)

##@ A cluster to work on (NAME=other: another one)

.PHONY: up
up: own-cluster $(TESTBED) ## Start a cluster without an operator. CLUSTER=kind: with real nodes, in Docker. KUBERNETES=v1.36: that version.
	@$(if $(and $(on-kind),$(KUBERNETES)),$(error KUBERNETES=$(KUBERNETES) is for embedded clusters: leave it out, because the version of a kind cluster is that of its node image),:)
	@$(TESTBED_NAMED) up $(version)

.PHONY: env
env: own-cluster $(TESTBED) ## Print what a shell needs to use the cluster: eval "$(make -s env)"
	@$(TESTBED_NAMED) env

.PHONY: status
status: embedded-cluster $(TESTBED) ## List the running clusters and their processes.
	@$(TESTBED_NAMED) status

.PHONY: logs
logs: embedded-cluster $(TESTBED) ## List the logs. C=operator shows one of them, and ARGS=-f follows it.
	@$(TESTBED_NAMED) logs '$(C)' $(ARGS)

.PHONY: down
down: own-cluster $(TESTBED) ## Stop the cluster, and remove its data. What was built stays, and so do evidence of failures and your progress.
	@$(TESTBED_NAMED) down

##@ The operator (STAGE=NN-name: a chapter's; DIR: your copy), as in every kubebuilder project

.PHONY: generate manifests
generate manifests: legal-stage controller-gen ## Generate Go code, or the CRD and the ClusterRole, from the API types.
	@$(has-target) $(MAKE) -C $(COPY_OR_PROJECT) $@

.PHONY: build
build: legal-stage controller-gen ## Build operator/bin/manager.
	@$(has-target) $(MAKE) -C $(COPY_OR_PROJECT) $@

.PHONY: install uninstall
install uninstall: legal-cluster legal-stage $(TESTBED) controller-gen ## Install the CRD; remove it, and with it every Memcached. FORCE=1: even protected ones.
	@$(has-target) $(confirm) echo '$(doing) the CRD of $(title)' >&2 && $(on-cluster) $(MAKE) -C $(COPY_OR_PROJECT) $@

# What a target works on, for people: without DIR or STAGE it is the finished operator, which is easily taken for a copy.
doing = $(if $(filter install,$@),installing,removing)
title = $(if $(filter 'operator' operator,$(works-on)),the finished operator (operator/),$(subst ',,$(works-on)))

.PHONY: run
run: legal-cluster legal-stage $(TESTBED) ## Run the operator on this machine, as its own ServiceAccount, until Ctrl-C. DEBUG=1 waits for a debugger.
	@$(if $(on-kind),$(error make run is for embedded and existing clusters: make docker-build docker-push deploy CLUSTER=kind runs the operator as an image),:)
	@$(if $(DEBUG),debugger=$$(scripts/tool tools dlv) &&) $(TESTBED_NAMED) run --operator=$(COPY_OR_PROJECT) $(if $(on-existing),--existing) $(if $(DEBUG),--debugger="$$debugger")

# The engine in which kind makes nodes, unless CONTAINER_TOOL names one, which reaches the other Makefile anyway.
engine = $(if $(CONTAINER_TOOL),,CONTAINER_TOOL="$$($(TESTBED) image engine)")

.PHONY: docker-build docker-push
docker-build: legal-stage $(TESTBED) ## Build the operator's image with the name IMG=registry/name:tag, or a name in the local registry.
	@$(has-target) $(TESTBED) image check '$(image)'
	@$(MAKE) -C $(PROJECT) $@ IMG='$(image)' $(engine)
docker-push: legal-stage $(TESTBED) $(filter docker-build,$(MAKECMDGOALS)) ## Push the image to the registry in IMG, or to the local one, which make up CLUSTER=kind starts.
	@$(has-target) $(TESTBED) image check --push '$(image)'
	@$(MAKE) -C $(PROJECT) $@ IMG='$(image)' $(engine) PUSH_FLAGS="$$($(TESTBED) image push-flags --tool='$(CONTAINER_TOOL)' '$(image)')"

.PHONY: docker-buildx
docker-buildx: legal-stage $(TESTBED) ## Build the image for PLATFORMS=linux/amd64,linux/arm64 (or others), and push it under one name.
	@$(call has-target-of,docker-build) $(TESTBED) image check --push '$(image)'
	@$(MAKE) -C operator $@ OF='$(CURDIR)/$(PROJECT)' IMG='$(image)' $(engine) $(if $(PLATFORMS),PLATFORMS='$(PLATFORMS)')

# testbed renders the manifests in place of kubectl: this needs no cluster, so our kubectl may not have been built yet.
.PHONY: build-installer
build-installer: legal-stage $(TESTBED) controller-gen ## Write dist/install.yaml in the operator's directory: a single file that installs the operator with the image IMG.
	@$(has-target) $(TESTBED) image check '$(image)'
	@$(MAKE) -C $(PROJECT) $@ IMG='$(image)' KUBECTL="'$(abspath $(TESTBED))'"

.PHONY: build-chart
build-chart: legal-stage $(TESTBED) controller-gen ## Update the files of the Helm chart operator/dist/chart that come from operator/config.
	@$(has-target) $(MAKE) -C $(PROJECT) $@ KUBECTL="'$(abspath $(TESTBED))'"

# Without IMG: a name in the registry that the nodes of a kind cluster pull from. See e2e/cluster/kind.
image = $(or $(IMG),localhost:5001/operator-testbed/$(notdir $(PROJECT)):latest)

.PHONY: deploy
deploy: legal-cluster legal-stage $(TESTBED) controller-gen $(if $(on-kind),$(filter docker-build docker-push,$(MAKECMDGOALS))) ## Deploy the operator with the image IMG or, on CLUSTER=kind, with the one from make docker-build docker-push.
	@$(has-target) $(if $(on-existing),:,$(if $(on-kind),$(with-cluster) $(deploy-on-kind),$(refuse-to-deploy)))
	@$(if $(on-existing),$(with-cluster) $(MAKE) -C $(PROJECT) $@ $(if $(IMG),IMG='$(IMG)'),:)

deploy-on-kind = scripts/deploy-on-kind "$(TESTBED_NAMED)" '$(image)' $(PROJECT)
refuse-to-deploy = echo "deploy is refused on CLUSTER=embedded: it has no real kubelet, so a pod would be called Ready without running the image; make run runs the operator here, as its own ServiceAccount" >&2; exit 1

.PHONY: undeploy
undeploy: legal-cluster legal-stage $(TESTBED) ## Remove the operator, the CRD and every Memcached. FORCE=1: even protected ones, and others' objects in its namespace.
	@$(has-target) $(with-cluster) $(MAKE) -C $(PROJECT) $@

# A project of Operator SDK without Go is in a chapter's directory, and only this target knows it: STAGE=18-operator-sdk/helm.
.PHONY: eject
eject: STAGES += $(patsubst tutorial/%/PROJECT,%,$(wildcard tutorial/*/*/PROJECT))
eject: legal-stage $(TESTBED) ## Create your own project in the new directory DIR, from a copy of the operator. MODULE=name sets its module.
	@$(TESTBED) lab eject --stage='$(STAGE)' --dir='$(DIR)' --module='$(MODULE)'

##@ Learn: write a chapter's operator yourself (the texts are in tutorial/)

.PHONY: learn
learn: own-cluster $(TESTBED) site ## Show the tutorial in your browser, with your cluster beside the text. STAGE=NN-name DIR=my-operator starts there, with your copy; PORT=8091
	@$(TESTBED) --name='$(NAME)' lab learn --stage='$(STAGE)' --dir='$(DIR)' --cluster='$(CLUSTER)' --port='$(PORT)'

.PHONY: start
start: $(TESTBED) ## Copy what STAGE=quickstart or STAGE=NN-name starts from to the new directory DIR, and show the chapter's goal.
	@$(TESTBED) lab start --stage='$(STAGE)' --dir='$(DIR)'

.PHONY: check
check: $(TESTBED) ## Check every feature of the chapter in the copy DIR, with a hint for each that fails. ONLY=TestNodes: only that one.
	@scripts/run progress --lines 'checking $(DIR)' $(TESTBED) lab check --dir='$(DIR)' --only='$(ONLY)'

.PHONY: watch
watch: $(TESTBED) ## Check the copy DIR again whenever you save a file. The cluster stays up between checks.
	@$(TESTBED) lab watch --dir='$(DIR)'

.PHONY: progress
progress: $(TESTBED) ## List the chapters and break-it labs that you have completed, in any directory.
	@$(TESTBED) lab progress

.PHONY: hint
hint: $(TESTBED) ## Show the next of three hints for a task or an exercise of the chapter of DIR, or of STAGE=NN-name. TASK=2 or EXERCISE=2 selects it.
	@$(TESTBED) lab hint --stage='$(STAGE)' --dir='$(DIR)' --task='$(TASK)' --exercise='$(EXERCISE)'

.PHONY: break
break: $(TESTBED) ## Copy an operator with one fault to the new directory DIR, and describe the symptom. Without LAB=name: list the labs.
	@$(TESTBED) lab break --lab='$(LAB)' --dir='$(DIR)'

.PHONY: reset
reset: $(TESTBED) ## Start over in DIR. Your version is kept beside it.
	@$(TESTBED) lab reset --dir='$(DIR)'

.PHONY: solution
solution: $(TESTBED) ## Copy the solution of STAGE=NN-name to the new directory DIR.
	@$(TESTBED) lab solution --stage='$(STAGE)' --dir='$(DIR)'

.PHONY: diff
diff: $(TESTBED) ## Show what STAGE=NN-name changes in the operator that it builds on. STEP=2: only that step.
	@$(TESTBED) lab diff --stage='$(STAGE)' --step='$(STEP)'

.PHONY: submit
submit: $(TESTBED) ## Pack the copy in DIR into an archive to hand in. What the grader would refuse is refused here, with the reason.
	@$(TESTBED) lab submit --dir='$(DIR)'

##@ A site of all pages

.PHONY: site
site: $(TESTBED) ## Build a site of the tutorial and the documentation in bin/site. BASE=/path/ or an address: where it will be served.
	@$(TESTBED) lab publish --base='$(BASE)'

.PHONY: site-serve
site-serve: $(TESTBED) ## Serve the site on this machine. Reload a page to see your changes.
	@$(TESTBED) lab publish --base='$(BASE)' --serve

##@ Teach a class (DIR=class: its directory)

class-on = --dir='$(DIR)' --stage='$(STAGE)' --lab='$(LAB)'

.PHONY: class-new
class-new: $(TESTBED) ## Create a class whose first assignment is STAGE=NN-name or LAB=name. FROM=file.csv lists its students: id,name,email[,pair].
	@$(TESTBED) lab class new $(class-on) --from='$(FROM)'

.PHONY: class-handout
class-handout: $(TESTBED) ## Make a copy for each student who has none, in release/. AS=folders, archives or repositories.
	@$(TESTBED) lab class handout $(class-on) --as='$(AS)'

.PHONY: class-collect
class-collect: $(TESTBED) ## Collect the submissions in FROM=directory, AS=folders, archives or repositories. The time of this command counts.
	@$(TESTBED) lab class collect $(class-on) --from='$(or $(FROM),$(if $(filter command,$(origin FROM)),$(error FROM is empty: name the directory with what was handed in, or leave FROM out)))' --as='$(AS)'

.PHONY: class-serve
class-serve: $(TESTBED) ## Show in a browser how far students are, and where they are stuck. LAN=yes accepts reports from other machines; PORT=8090.
	@$(TESTBED) lab class serve $(class-on) --port='$(PORT)' --lan='$(LAN)'

.PHONY: class-grade
class-grade: $(TESTBED) ## Grade the collected submissions behind two walls. STUDENT=s07: that one again; J=4: four at once; EXTRA=directory: your own tests; ARGS=--isolation=inner
	@$(TESTBED) lab grade $(class-on) --student='$(STUDENT)' --at-once='$(J)' --extra='$(EXTRA)' $(ARGS)

.PHONY: class-export
class-export: $(TESTBED) ## Write the grades to OUT=file as FORMAT=nbgrader, moodle, canvas, junit, json or your own template. COLUMN=name: the assignment's column.
	@$(TESTBED) lab class export $(class-on) --format='$(FORMAT)' --column='$(COLUMN)' --out='$(OUT)'

.PHONY: class-forget
class-forget: $(TESTBED) ## Remove all personal data of a class (roster, submissions, grades, feedback), after asking.
	@$(TESTBED) lab class forget $(class-on)

##@ Quality

.PHONY: e2e
e2e: legal-cluster legal-stage $(TESTBED) ## Run on kind what only real nodes can show. ALL=yes: every feature; SDK=yes: what needs Operator SDK. STAGE=NN-name: the chapter's suite, on an embedded cluster. CLUSTER=embedded, kind or existing selects another.
	@$(confirm) $(if $(on-kind),$(TESTBED_NAMED) check &&) CLUSTER=$(CLUSTER) scripts/run $(if $(SDK),e2e-sdk,$(if $(ALL),e2e-all,e2e)) $(STAGE)

.PHONY: test-all
test-all: embedded-cluster $(TESTBED) ## Run make test, and everything else that needs no Docker: commands of pages, starts, solutions, labs, mutants, the site in a browser.
	@scripts/run test-all

.PHONY: nightly
nightly: $(TESTBED) ## Run everything, without reusing results, for hours. PART=name: one part. Shows when each part last passed.
	@scripts/run nightly -part='$(PART)'

.PHONY: mutants
mutants: legal-stage $(TESTBED) ## Break the operators, or that of STAGE=NN-name, with the patches beside their suites, and check that the suite notices. ARGS=-only=regexp selects some.
	@scripts/mutants $(ARGS) $(STAGE)

.PHONY: mutation
mutation: ## Change each ==, < and + in the operator's code, one at a time, and count how many changes its unit tests catch. ONLY=regexp selects packages. Takes long.
	@scripts/mutation -only='$(ONLY)' $(ARGS)

.PHONY: rbac-proof
rbac-proof: $(TESTBED) ## Remove each of the operator's permissions, one at a time, and check that a feature fails. ONLY=regexp selects some. Takes long.
	@scripts/mutants -permissions -only='$(ONLY)' 19-finished

.PHONY: class-proof
class-proof: $(TESTBED) ## Test the grader behind both walls: the start and the solution of each chapter, each break-it lab, hostile operators (STAGE=NN-name: of that chapter), and a class of CLASS_SIZE=30. Takes long.
	@TESTBED_TIER=nightly CLUSTER=embedded CLASS_PROOF_STAGES='$(STAGE)' go test -count=1 -v -timeout=0 -run='^Test(Proof|Hostile|Hoards|Notes|Loud)$$' ./tutorial/internal/grade/grading
	@TESTBED_TIER=nightly CLUSTER=embedded go test -count=1 -v -timeout=0 -run='^Test(GradingAClassForReal|Offline|WithoutWalls|GradeOneForReal|Solutions)$$' ./tutorial/lab
	@TESTBED_TIER=nightly CLUSTER=embedded CLASS_SIZE='$(CLASS_SIZE)' go test -count=1 -v -timeout=0 -run='^Test(Class|Lab)$$' ./tutorial/internal/grade/classroom

.PHONY: soak
soak: $(TESTBED) ## Run the operator through 10 minutes of random changes and faults, with a check after each. ARGS="-soak.for=1h -soak.seed=N"
	@TESTBED_TIER=nightly CLUSTER=embedded go test -count=1 -v -timeout=0 -run='^TestSoak$$' ./e2e/memcached $(ARGS)

.PHONY: conformance
conformance: own-cluster $(TESTBED) ## Check any operator, point by point: OPERATOR=executable or image, MANIFESTS=directory, MAPPING=file or SAMPLE=file, CRDS=files, FROM=previous version, ALL=yes, CLUSTER=kind
	@$(TESTBED) conformance $(if $(on-kind),--cluster=kind) --operator='$(OPERATOR)' --from='$(FROM)' --manifests='$(MANIFESTS)' --mapping='$(MAPPING)' --sample='$(SAMPLE)' --crds='$(CRDS)' $(version) $(if $(ALL),--all) $(ARGS)

.PHONY: test-race
test-race: ## Look for data races in what needs no cluster, and in the operator during its suite. Needs a C compiler. Takes long.
	@scripts/race

.PHONY: lint
lint: ## Run the linters on the code and the workflows.
	@linter=$$(scripts/tool lint golangci-lint) && scripts/run progress --lines "linting" "$$linter" run ./...
	@go -C scripts/tools run ./vocabulary -C ../.. .
	@linter=$$(scripts/tool workflow actionlint) && "$$linter" -shellcheck= -pyflakes= .github/workflows/*.yml

.PHONY: check-platforms
check-platforms: ## Type-check everything for other platforms: PLATFORMS=linux/arm64,darwin/arm64.
	@scripts/run progress --lines "type-checking" scripts/check-platforms '$(PLATFORMS)'

.PHONY: vulncheck
vulncheck: ## Report each function with a known vulnerability that the operator calls. DB=file:///directory replaces vuln.go.dev.
	@checker=$$(scripts/tool release govulncheck) && scripts/run progress --lines "checking for vulnerabilities" \
		"$$checker" $(if $(DB),-db='$(DB)') $(or $(ARGS),./operator/...)

.PHONY: sbom
sbom: ## List what the operator's image is made of in operator/bin/manager.spdx.json, as SPDX.
	@$(MAKE) -C operator bin/image/manager
	@go -C scripts/release run ./sbom ../../operator/bin/image/manager >operator/bin/manager.spdx.json

.PHONY: clean
clean: ## Remove what was built in this directory. The cache stays, because other clones share it.
	@rm -rf bin operator/bin operator/dist/install.yaml tutorial/*/bin tutorial/*/dist artifacts

##@ Real nodes

.PHONY: docker-up docker-down
docker-up docker-down: ## Install and start Docker on Debian or Ubuntu, after listing the steps and asking; stop it again.
	@mkdir -p bin && scripts/run progress "compiling kind/docker" go build "-ldflags=-s -w" -o bin/docker-engine ./kind/docker
	@bin/docker-engine $(@:docker-%=%)

.PHONY: memcached-image
memcached-image: ## Build an image of memcached from Debian's package, and print its name, for MEMCACHED_IMAGE.
	@scripts/run progress "compiling kind/node" go -C kind/node build "-ldflags=-s -w" -o ../../bin/node-image .
	@cd kind/node && ../../bin/node-image -image=memcached

.PHONY: node-image
node-image: ## Build the image of a node from Go modules and Debian packages, and print its name. For sites without a registry.
	@scripts/run progress "compiling kind/node" go -C kind/node build "-ldflags=-s -w" -o ../../bin/node-image .
	@cd kind/node && ../../bin/node-image

##@ cert-manager

# Its CustomResourceDefinitions come from its module, like its controllers.
.PHONY: cert-manager
cert-manager: own-cluster $(TESTBED) ## Run cert-manager's controllers on this machine, for the certificates of webhooks, until Ctrl-C.
	@$(writable) && $(on-cluster) scripts/run progress "compiling kind/certmanager" go -C kind/certmanager build "-ldflags=-s -w" -o ../../bin/cert-manager . && \
		crds=$$(go -C kind/certmanager list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)/deploy/crds && \
		kubectl apply --server-side --filename="$$crds" && kubectl wait --for=condition=Established --filename="$$crds" >/dev/null && \
		exec bin/cert-manager

##@ Operator SDK

.PHONY: sdk
sdk: ## Build operator-sdk, opm, helm, helm-operator and ansible-operator, which takes minutes the first time. make env puts them on PATH.
	@$(writable) && scripts/run progress "compiling scripts/sdk" go -C scripts/sdk build "-ldflags=-s -w" -o ../../bin/build-sdk .
	@directory=$$(cd scripts/sdk && ../../bin/build-sdk) && ln -sfn "$$directory" bin/sdk && \
		echo 'operator-sdk, opm, helm, helm-operator, ansible-operator and scorecard-test are in bin/sdk: eval "$$(make -s env)" puts them on PATH'

.PHONY: test-sdk
test-sdk: $(TESTBED) ## Run the tests that need make sdk, and the commands of the pages about Operator SDK. make test-all includes them once it is built.
	@[ -e bin/sdk ] || { echo "Operator SDK is not built: type make sdk, which compiles it once, for several minutes" >&2; exit 1; }
	@TESTBED_TIER=all CLUSTER=embedded go test -count=1 -v -timeout=0 -run='$(needs-sdk)' ./e2e/sdk ./docs ./tutorial
needs-sdk = ^Test(Versions|Bundle|Catalog|Faulty|Scorecard)|^TestCommands$$/^docs$$/^(bundle|older-posts|sdk-problems)\.md$$|^TestChapterCommands$$/^tutorial$$/^18-operator-sdk$$

.PHONY: build-bundle
build-bundle: $(TESTBED) controller-gen ## Write operator/bundle, a package for OLM with the image IMG and the version VERSION. Needs make sdk.
	@$(if $(IMG),$(TESTBED) image check '$(IMG)',:)
	@$(MAKE) -C operator bundle bundle-validate $(if $(IMG),IMG='$(IMG)') $(if $(VERSION),VERSION='$(VERSION)') KUBECTL="'$(abspath $(TESTBED))'"

.PHONY: scorecard
scorecard: $(TESTBED) ## Run the tests of Operator SDK's scorecard on operator/bundle, without a cluster. Needs make sdk.
	@$(TESTBED) scorecard

##@ Without a network

.PHONY: bundle
bundle: bin/bundle bundled-sites ## Pack what needs a network into BUNDLE=file, for machines like this one or PLATFORMS="linux/amd64 darwin/arm64". IMAGES="name ..." adds images.
	@platforms=$$(bin/bundle platforms '$(PLATFORMS)') && for platform in $$platforms; do \
		go -C kind/kubernetes run . -platform=$$platform >/dev/null || exit; done
	@scripts/run progress 'packing $(BUNDLE)' bin/bundle pack -platforms='$(PLATFORMS)' -images='$(IMAGES)' '$(BUNDLE)'

# Below a path, too: without a network, make test-all compares both.
.PHONY: bundled-sites
bundled-sites: $(TESTBED)
	@$(TESTBED) lab publish --out=bin/site
	@$(TESTBED) lab publish --out=bin/site-below --base=/operator-testbed/

.PHONY: unbundle
unbundle: bin/bundle ## Unpack BUNDLE=file or BUNDLE=https://address into this machine's caches.
	@scripts/run progress 'unpacking $(BUNDLE)' bin/bundle unpack '$(BUNDLE)'

.PHONY: bin/bundle
bin/bundle:
	@scripts/run progress "compiling e2e/host/bundle" go build "-ldflags=-s -w" -o $@ ./e2e/host/bundle

##@ Pictures

.PHONY: demo-picture
demo-picture: embedded-cluster $(TESTBED) ## Draw docs/demo.svg, the README's picture of make demo, from a run.
	@mkdir -p bin && $(TESTBED) --name=picture demo >bin/demo.txt; code=$$?; $(TESTBED) --name=picture down >/dev/null && exit $$code
	@go run ./docs/terminal -command='make demo' <bin/demo.txt >bin/demo.svg && mv bin/demo.svg docs/demo.svg

.PHONY: conditions-picture
conditions-picture: embedded-cluster $(TESTBED) ## Draw docs/conditions.svg, which shows how conditions change, from a run of the operator of 05-failures.
	@mkdir -p bin && docs/conditions/record | go run ./docs/conditions >bin/conditions.svg && mv bin/conditions.svg docs/conditions.svg

##@ Measure

.PHONY: bench-cluster
bench-cluster: $(TESTBED) ## Measure how fast a cluster starts, compared with envtest, and how much memory it needs. ARGS=--runs=9, ARGS=--json
	@$(TESTBED) bench cluster $(ARGS)

.PHONY: bench-kind
bench-kind: $(TESTBED) ## Measure how fast a kind cluster is ready, compared with kind alone. ARGS=--runs=5, ARGS=--json
	@$(TESTBED) bench kind $(ARGS)

.PHONY: bench-operator
bench-operator: $(TESTBED) ## Measure what the operator costs, compared with the minimum and with kubebuilder's scaffold. ARGS=--objects=1,100
	@[ -x bin/scaffold/bin/manager ] || { rm -rf bin/scaffold && scripts/scaffold bin/scaffold >/dev/null; }
	@$(TESTBED) bench operator --scaffold=bin/scaffold $(ARGS)

##@ This machine

.PHONY: doctor
doctor: $(TESTBED) ## Report what this machine lacks, and the command that fixes it. ARGS=--network also tries the network.
	@$(TESTBED) doctor $(ARGS)

.PHONY: help
help: ## List all targets.
	@$(call list-targets,.)

# What fits on a screen.
.PHONY: first-steps
first-steps:
	@$(call list-targets,^##@ (Begin|A cluster|Learn))
	@printf '\n%s\n' 'New here? Read tutorial/quickstart/README.md: it begins with make up, and make start STAGE=quickstart DIR=first-operator.'
	@printf '%s\n' 'make help lists the other targets: build, run and deploy the operator, test it, measure it.'

.DEFAULT:
	$(error there is no target $@: make help lists all targets)

# Prints the targets below the headings that match a regular expression.
list-targets = awk 'BEGIN { FS = ":.*\#\# " } \
	/^\#\#@ / { shown = /$(1)/; if (shown) printf "\n%s\n", substr($$0, 5) } \
	shown && /^[a-z][a-z0-9 -]*:.*\#\# / { printf "  make %-24s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# The operator's Makefile runs it; compiled here, its first time shows progress.
.PHONY: controller-gen
controller-gen:
	@scripts/tool tools controller-gen >/dev/null

# Before anything that a value decides about: an unknown one is refused at once.
.PHONY: legal-cluster
legal-cluster:
	@$(if $(and $(filter $(CLUSTERS),$(CLUSTER)),$(filter 1,$(words $(CLUSTER)))),:,$(error there is no CLUSTER=$(CLUSTER): use one of $(CLUSTERS)))
	@$(if $(and $(on-existing),$(word 2,$(KUBECTL))),$(error KUBECTL=$(KUBECTL) has arguments, which could lead to another cluster than the one that CLUSTER=existing shows: give only the path of kubectl),:)

# The site redirects the former addresses of chapters, so docs/moved.yaml has their former names.
moved = $(shell sed -n 's/: tutorial/=tutorial/p' docs/moved.yaml)
renamed = $(patsubst tutorial/$(STAGE)/README.md=tutorial/%/README.md,STAGE=$(STAGE) is now %,$(filter tutorial/$(STAGE)/README.md=%,$(moved)))

.PHONY: legal-stage
legal-stage:
	@$(if $(filter-out $(STAGES),$(STAGE))$(word 2,$(STAGE)),$(error $(or $(renamed),there is no STAGE=$(STAGE): use one of $(STAGES))),:)

# A chapter has the targets that it has come to.
has-target = $(call has-target-of,$@)
has-target-of = [ -d $(works-on) ] || { echo 'there is no directory $(subst ',,$(works-on)): give that of your copy' >&2; exit 1; }; grep -q '^\($1\|.* $1\|$1 .*\):' $(works-on)/Makefile 2>/dev/null || { echo '$(if $(STAGE),the chapter $(STAGE),$(subst ',,$(works-on))) has no target $@' >&2; exit 1; };
works-on = $(if $(filter $@,$(used-by-DIR)),$(COPY_OR_PROJECT),$(PROJECT))

# Before anything that only embedded clusters know.
.PHONY: embedded-cluster
embedded-cluster: own-cluster
	@$(if $(on-kind),$(error make $(firstword $(MAKECMDGOALS)) is about embedded clusters: leave CLUSTER=kind out),:)

# Before anything that is about a cluster of the testbed's own.
.PHONY: own-cluster
own-cluster: legal-cluster
	@$(if $(on-existing),$(error make $(firstword $(MAKECMDGOALS)) is about the testbed's own clusters: leave CLUSTER=existing out),:)

# Only the Go command knows whether an executable is up to date, and it takes a third of a second to find out. So it is asked
# only when a file or directory that the executable is built from is newer.
up-to-date = [ -x $@ ] && [ -z "$$(find go.mod go.sum $(1) -newer $@ | head -n 1)" ]

# Compilers that rarely collect garbage save processor time (kind/build does the same).
compiling = GOGC=$${GOGC-off} GOMEMLIMIT=$${GOMEMLIMIT-1GiB}

# What is compiled is written here.
writable = { mkdir -p bin 2>/dev/null && [ -w bin ] || { echo "$(CURDIR)/bin can't be written: clone the repository into a directory of yours" >&2; exit 1; }; }

.PHONY: $(TESTBED)
$(TESTBED):
	@command -v go >/dev/null || { echo "Go is not on PATH: install Go 1.26 or newer from https://go.dev/dl and put its bin directory on PATH" >&2; exit 1; }
	@$(call up-to-date,e2e operator/api tutorial/internal tutorial/lab) || { $(writable); scripts/run progress "compiling the testbed's command line" \
		env $(compiling) go build "-ldflags=-s -w" -o $@ ./e2e/cmd/testbed; }
