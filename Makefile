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
LEARNER = bin/lab
TESTBED_NAMED = $(TESTBED) --name=$(NAME) $(on-kind)

CLUSTERS = embedded kind existing

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
demo: embedded-cluster $(TESTBED) ## A cluster, the operator, a Memcached: watch it become Available. Leaves it running.
	@$(TESTBED_NAMED) demo

.PHONY: test
test: embedded-cluster legal-stage $(TESTBED) ## The unit tests, and every suite on embedded clusters; STAGE=NN-name: those of one chapter.
	@scripts/run test $(STAGE)

##@ A cluster to play with (NAME=other for one more)

.PHONY: up
up: own-cluster $(TESTBED) ## Bring a cluster up, without an operator; CLUSTER=kind has real nodes, in Docker.
	@$(TESTBED_NAMED) up

.PHONY: env
env: own-cluster $(TESTBED) ## What a shell needs to use it: eval "$(make -s env)"
	@$(TESTBED_NAMED) env

.PHONY: status
status: embedded-cluster $(TESTBED) ## Which clusters are up, and their processes.
	@$(TESTBED_NAMED) status

.PHONY: logs
logs: embedded-cluster $(TESTBED) ## Which logs there are; C=operator shows one, ARGS=-f follows it.
	@$(TESTBED_NAMED) logs '$(C)' $(ARGS)

.PHONY: down
down: own-cluster $(TESTBED) ## Take it down. What was built stays, and so do evidence of failures and your progress.
	@$(TESTBED_NAMED) down

##@ The operator, or with STAGE=NN-name a chapter's, or the copy in DIR (what every kubebuilder project has)

.PHONY: generate manifests
generate manifests: legal-stage controller-gen ## Write what is generated from the API's types: Go code; the CRD and the ClusterRole.
	@$(has-target) $(MAKE) -C $(COPY_OR_PROJECT) $@

.PHONY: build
build: legal-stage controller-gen ## Build operator/bin/manager.
	@$(has-target) $(MAKE) -C $(COPY_OR_PROJECT) $@

.PHONY: install uninstall
install uninstall: legal-cluster legal-stage $(TESTBED) controller-gen ## Install the CRD into the cluster; remove it, and with it every Memcached. FORCE=1: protected ones, too.
	@$(has-target) $(confirm) echo '$(doing) the CRD of $(title)' >&2 && $(on-cluster) $(MAKE) -C $(COPY_OR_PROJECT) $@

# What a target works on, for people: without DIR or STAGE it is the finished operator, which is easily taken for a copy.
doing = $(if $(filter install,$@),installing,removing)
title = $(if $(filter 'operator' operator,$(works-on)),the finished operator (operator/),$(subst ',,$(works-on)))

.PHONY: run
run: legal-cluster legal-stage $(TESTBED) ## Run the operator here, as its own ServiceAccount, until Ctrl-C; DEBUG=1 waits for a debugger.
	@$(if $(on-kind),$(error make run is for embedded and existing clusters: make docker-build docker-push deploy CLUSTER=kind runs the operator as an image),:)
	@$(if $(DEBUG),debugger=$$(scripts/tool tools dlv) &&) $(TESTBED_NAMED) run --operator=$(COPY_OR_PROJECT) $(if $(on-existing),--existing) $(if $(DEBUG),--debugger="$$debugger")

# The engine in which kind makes nodes, unless CONTAINER_TOOL names one, which reaches the other Makefile anyway.
engine = $(if $(CONTAINER_TOOL),,CONTAINER_TOOL="$$($(TESTBED) image engine)")

.PHONY: docker-build docker-push
docker-build: legal-stage $(TESTBED) ## Build the operator's image, called IMG=registry/name:tag or by a name of the local registry's.
	@$(has-target) $(TESTBED) image check '$(image)'
	@$(MAKE) -C $(PROJECT) $@ IMG='$(image)' $(engine)
docker-push: legal-stage $(TESTBED) $(filter docker-build,$(MAKECMDGOALS)) ## Push it: to the registry in IMG, or the local one that a kind cluster brings along.
	@$(has-target) $(TESTBED) image check --push '$(image)'
	@$(MAKE) -C $(PROJECT) $@ IMG='$(image)' $(engine) PUSH_FLAGS="$$($(TESTBED) image push-flags --tool='$(CONTAINER_TOOL)' '$(image)')"

.PHONY: docker-buildx
docker-buildx: legal-stage $(TESTBED) ## Build it for PLATFORMS=linux/amd64,linux/arm64 (or others, with commas), and push that under one name.
	@$(call has-target-of,docker-build) $(TESTBED) image check --push '$(image)'
	@$(MAKE) -C operator $@ OF='$(CURDIR)/$(PROJECT)' IMG='$(image)' $(engine) $(if $(PLATFORMS),PLATFORMS='$(PLATFORMS)')

# testbed renders the manifests in place of kubectl: this needs no cluster, so our kubectl may not have been built yet.
.PHONY: build-installer
build-installer: legal-stage $(TESTBED) controller-gen ## Write dist/install.yaml in the operator's directory, one file that installs it as the image IMG.
	@$(has-target) $(TESTBED) image check '$(image)'
	@$(MAKE) -C $(PROJECT) $@ IMG='$(image)' KUBECTL="'$(abspath $(TESTBED))'"

.PHONY: build-chart
build-chart: legal-stage $(TESTBED) controller-gen ## Write those files of the Helm chart operator/dist/chart that come from operator/config.
	@$(has-target) $(MAKE) -C $(PROJECT) $@ KUBECTL="'$(abspath $(TESTBED))'"

# Without IMG: a name in the registry that the nodes of a kind cluster pull from. See e2e/cluster/kind.
image = $(or $(IMG),localhost:5001/operator-testbed/$(notdir $(PROJECT)):latest)

.PHONY: deploy
deploy: legal-cluster legal-stage $(TESTBED) controller-gen $(if $(on-kind),$(filter docker-build docker-push,$(MAKECMDGOALS))) ## Deploy the operator as the image IMG, or on CLUSTER=kind as what make docker-build docker-push made.
	@$(has-target) $(if $(on-existing),:,$(if $(on-kind),$(with-cluster) $(deploy-on-kind),$(refuse-to-deploy)))
	@$(if $(on-existing),$(with-cluster) $(MAKE) -C $(PROJECT) $@ $(if $(IMG),IMG='$(IMG)'),:)

deploy-on-kind = scripts/deploy-on-kind "$(TESTBED_NAMED)" '$(image)' $(PROJECT)
refuse-to-deploy = echo "deploy is refused on CLUSTER=embedded: it has no real kubelet, so a pod would be called Ready without running the image; make run runs the operator here, as its own ServiceAccount" >&2; exit 1

.PHONY: undeploy
undeploy: legal-cluster legal-stage $(TESTBED) ## Remove the operator, the CRD, and with it every Memcached. FORCE=1: protected ones, and others' objects in its namespace, too.
	@$(has-target) $(with-cluster) $(MAKE) -C $(PROJECT) $@

# A project of Operator SDK without Go is in a chapter's directory, and only this target knows it: STAGE=18-operator-sdk/helm.
.PHONY: eject
eject: STAGES += $(patsubst tutorial/%/PROJECT,%,$(wildcard tutorial/*/*/PROJECT))
eject: legal-stage $(LEARNER) ## A project of your own that starts as a copy of the operator, in the new directory DIR; MODULE=name is its module.
	@$(LEARNER) eject --stage='$(STAGE)' --dir='$(DIR)' --module='$(MODULE)'

##@ Learn: write a chapter's operator yourself (the texts are in tutorial/)

.PHONY: learn
learn: own-cluster $(TESTBED) site ## The tutorial in your browser, with your cluster beside the text; STAGE=NN-name DIR=my-operator begins there, with your copy; PORT=8091
	@$(LEARNER) learn --stage='$(STAGE)' --dir='$(DIR)' --cluster='$(CLUSTER)' --name='$(NAME)' --testbed='$(TESTBED)' --port='$(PORT)'

.PHONY: start
start: $(LEARNER) ## A copy of what STAGE=quickstart or STAGE=NN-name starts from, in the new directory DIR, and the goal of the chapter.
	@$(LEARNER) start --stage='$(STAGE)' --dir='$(DIR)'

.PHONY: check
check: $(LEARNER) ## Check every feature of the chapter against the copy in DIR, with a hint for each that fails; ONLY=TestNodes: that feature alone.
	@scripts/run progress --lines 'checking $(DIR)' $(LEARNER) check --dir='$(DIR)' --only='$(ONLY)'

.PHONY: watch
watch: $(LEARNER) ## Check the copy in DIR again whenever you save a file. The cluster stays up between checks.
	@$(LEARNER) watch --dir='$(DIR)'

.PHONY: progress
progress: $(LEARNER) ## Which chapters and break-it labs you have done, in whichever directory.
	@$(LEARNER) progress

.PHONY: hint
hint: $(LEARNER) ## The next of three hints for a task or an exercise of the chapter of DIR, or of STAGE=NN-name; TASK=2 or EXERCISE=2 chooses.
	@$(LEARNER) hint --stage='$(STAGE)' --dir='$(DIR)' --task='$(TASK)' --exercise='$(EXERCISE)'

.PHONY: break
break: $(LEARNER) ## A copy with one fault in it, in the new directory DIR, and what a user notices; without LAB=name, the list.
	@$(LEARNER) break --lab='$(LAB)' --dir='$(DIR)'

.PHONY: reset
reset: $(LEARNER) ## Start over in DIR. Your version is kept beside it.
	@$(LEARNER) reset --dir='$(DIR)'

.PHONY: solution
solution: $(LEARNER) ## A copy of what STAGE=NN-name ends with, in the new directory DIR.
	@$(LEARNER) solution --stage='$(STAGE)' --dir='$(DIR)'

.PHONY: diff
diff: $(LEARNER) ## What STAGE=NN-name changes in the operator that it builds on; STEP=2: that step of it.
	@$(LEARNER) diff --stage='$(STAGE)' --step='$(STEP)'

.PHONY: submit
submit: $(LEARNER) ## Make one archive of the copy in DIR, to hand in. What the grader would refuse is refused here, with the reason.
	@$(LEARNER) submit --dir='$(DIR)'

##@ Read it all in a browser

.PHONY: site
site: $(LEARNER) ## Make a site of the tutorial and the documentation in bin/site; BASE=/path/ or an address is where it will be served.
	@$(LEARNER) publish --base='$(BASE)'

.PHONY: site-serve
site-serve: $(LEARNER) ## Show it on this machine. A page that is loaded again shows what you have changed.
	@$(LEARNER) publish --base='$(BASE)' --serve

##@ Teach a class (DIR=class is the directory of the class)

class-on = --dir='$(DIR)' --stage='$(STAGE)' --lab='$(LAB)'

.PHONY: class-new
class-new: $(LEARNER) ## A new class, which begins with STAGE=NN-name or LAB=name; FROM=file.csv has its students: id,name,email[,pair].
	@$(LEARNER) class new $(class-on) --from='$(FROM)'

.PHONY: class-handout
class-handout: $(LEARNER) ## A copy for each student who has none, in release/; AS=folders, archives or repositories.
	@$(LEARNER) class handout $(class-on) --as='$(AS)'

.PHONY: class-collect
class-collect: $(LEARNER) ## Take in what students have handed in, FROM=directory, AS=folders, archives or repositories; a late one is late now.
	@$(LEARNER) class collect $(class-on) --from='$(or $(FROM),$(if $(filter command,$(origin FROM)),$(error FROM is empty: name the directory with what was handed in, or leave FROM out)))' --as='$(AS)'

.PHONY: class-serve
class-serve: $(LEARNER) ## Show who is where, and who is stuck on what, in a browser; LAN=yes lets the copies of other machines report; PORT=8090.
	@$(LEARNER) class serve $(class-on) --port='$(PORT)' --lan='$(LAN)'

.PHONY: class-grade
class-grade: $(LEARNER) ## Grade what was collected behind two walls; STUDENT=s07 again; J=4 at once; EXTRA=directory has tests of yours; ARGS=--isolation=inner
	@$(LEARNER) grade $(class-on) --student='$(STUDENT)' --at-once='$(J)' --extra='$(EXTRA)' $(ARGS)

.PHONY: class-export
class-export: $(LEARNER) ## Write the grades to OUT=file, FORMAT=nbgrader, moodle, canvas, junit, json or a template of yours; COLUMN=name is the assignment's column.
	@$(LEARNER) class export $(class-on) --format='$(FORMAT)' --column='$(COLUMN)' --out='$(OUT)'

.PHONY: class-forget
class-forget: $(LEARNER) ## Remove what the class knows about persons, and ask first: roster, submissions, grades, feedback.
	@$(LEARNER) class forget $(class-on)

##@ Quality

.PHONY: e2e
e2e: legal-cluster legal-stage $(TESTBED) ## What only real nodes can show, on kind; ALL=yes: every feature; SDK=yes: what needs Operator SDK; the suite of STAGE=NN-name without Docker; CLUSTER=embedded, kind or existing says where.
	@$(confirm) $(if $(on-kind),$(TESTBED_NAMED) check &&) CLUSTER=$(CLUSTER) scripts/run $(if $(SDK),e2e-sdk,$(if $(ALL),e2e-all,e2e)) $(STAGE)

.PHONY: test-all
test-all: embedded-cluster $(TESTBED) $(LEARNER) ## make test, and what else needs no Docker and takes minutes: commands of pages, starts, solutions, labs, mutants, the site in a browser.
	@scripts/run test-all

.PHONY: nightly
nightly: $(TESTBED) $(LEARNER) ## Everything that takes longer, without reusing results; takes hours, and PART=name runs one part. Shows when each part last passed.
	@scripts/run nightly -part='$(PART)'

.PHONY: mutants
mutants: legal-stage $(TESTBED) ## Break the operators, or that of STAGE=NN-name, with the patches beside their suites, and see the suite catch each. ARGS=-only=regexp chooses.
	@scripts/mutants $(ARGS) $(STAGE)

.PHONY: mutation
mutation: ## Change each ==, < and + of the operator's code, one at a time, and count how many its unit tests catch. ONLY=regexp chooses packages. Takes a while.
	@scripts/mutation -only='$(ONLY)' $(ARGS)

.PHONY: rbac-proof
rbac-proof: $(TESTBED) ## Take each permission away from the operator, one at a time, and see a feature fail. ONLY=regexp chooses. Takes a while.
	@scripts/mutants -permissions -only='$(ONLY)' 19-finished

.PHONY: class-proof
class-proof: $(TESTBED) ## Grade what students begin with and each break-it lab, hostile operators in each kind of chapter (STAGE=NN-name chooses), each chapter's solution, and a class of CLASS_SIZE=30, behind both walls. Takes a while.
	@TESTBED_TIER=nightly CLUSTER=embedded CLASS_PROOF_STAGES='$(STAGE)' go test -count=1 -v -timeout=0 -run='^Test(Proof|Hostile|Hoards|Notes|Loud)$$' ./tutorial/internal/grade/grading
	@TESTBED_TIER=nightly CLUSTER=embedded go test -count=1 -v -timeout=0 -run='^Test(GradingAClassForReal|Offline|WithoutWalls|GradeOneForReal|Solutions)$$' ./tutorial/cmd/lab
	@TESTBED_TIER=nightly CLUSTER=embedded CLASS_SIZE='$(CLASS_SIZE)' go test -count=1 -v -timeout=0 -run='^Test(Class|Lab)$$' ./tutorial/internal/grade/classroom

.PHONY: soak
soak: $(TESTBED) ## Run the operator through 10 minutes of random changes and faults, and check it after each. ARGS="-soak.for=1h -soak.seed=N"
	@TESTBED_TIER=nightly CLUSTER=embedded go test -count=1 -v -timeout=0 -run='^TestSoak$$' ./e2e/memcached $(ARGS)

.PHONY: conformance
conformance: $(TESTBED) ## Check any operator, point by point: OPERATOR=its executable or image MANIFESTS=folder MAPPING or SAMPLE=file CRDS=files FROM=the version before ALL=yes
	@$(TESTBED) conformance --operator='$(OPERATOR)' --from='$(FROM)' --manifests='$(MANIFESTS)' --mapping='$(MAPPING)' --sample='$(SAMPLE)' --crds='$(CRDS)' $(if $(ALL),--all) $(ARGS)

.PHONY: test-race
test-race: ## Look for data races, in what needs no cluster and in the operator under its suite. Needs a C compiler. Takes a while.
	@scripts/race

.PHONY: lint
lint: ## Look for mistakes in the code and the workflow.
	@linter=$$(scripts/tool lint golangci-lint) && scripts/run progress --lines "linting" "$$linter" run ./...
	@go -C scripts/tools run ./vocabulary -C ../.. .
	@linter=$$(scripts/tool workflow actionlint) && "$$linter" -shellcheck= -pyflakes= .github/workflows/*.yml

.PHONY: check-platforms
check-platforms: ## Type-check everything for other platforms: PLATFORMS=linux/arm64,darwin/arm64.
	@scripts/run progress --lines "type-checking" scripts/check-platforms '$(PLATFORMS)'

.PHONY: vulncheck
vulncheck: ## Does the operator call a function with a known vulnerability? DB=file:///directory is another database than vuln.go.dev.
	@checker=$$(scripts/tool release govulncheck) && scripts/run progress --lines "checking for vulnerabilities" \
		"$$checker" $(if $(DB),-db='$(DB)') $(or $(ARGS),./operator/...)

.PHONY: sbom
sbom: ## List what the operator's image is made of, as SPDX in JSON, in operator/bin/manager.spdx.json.
	@$(MAKE) -C operator bin/image/manager
	@go -C scripts/release run ./sbom ../../operator/bin/image/manager >operator/bin/manager.spdx.json

.PHONY: clean
clean: ## Remove what was built in this directory. The cache stays: it is shared with other clones.
	@rm -rf bin operator/bin operator/dist/install.yaml tutorial/*/bin tutorial/*/dist artifacts

##@ Real kind

.PHONY: docker-up docker-down
docker-up docker-down: ## Install and start Docker on a Debian or Ubuntu without it (says what it does, and asks); stop it again.
	@mkdir -p bin && scripts/run progress "compiling kind/docker" go build "-ldflags=-s -w" -o bin/docker-engine ./kind/docker
	@bin/docker-engine $(@:docker-%=%)

.PHONY: memcached-image
memcached-image: ## Make an image of memcached from Debian's package, and print its name: for MEMCACHED_IMAGE.
	@scripts/run progress "compiling kind/node" go -C kind/node build "-ldflags=-s -w" -o ../../bin/node-image .
	@cd kind/node && ../../bin/node-image -image=memcached

.PHONY: node-image
node-image: ## Make the image of a node from Go modules and Debian packages, and print its name: for sites without a registry.
	@scripts/run progress "compiling kind/node" go -C kind/node build "-ldflags=-s -w" -o ../../bin/node-image .
	@cd kind/node && ../../bin/node-image

##@ cert-manager

# Its CustomResourceDefinitions come from its module, like its controllers.
.PHONY: cert-manager
cert-manager: own-cluster $(TESTBED) ## Run the controllers of cert-manager here, for the certificates of webhooks, until Ctrl-C.
	@$(writable) && $(on-cluster) scripts/run progress "compiling kind/certmanager" go -C kind/certmanager build "-ldflags=-s -w" -o ../../bin/cert-manager . && \
		crds=$$(go -C kind/certmanager list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)/deploy/crds && \
		kubectl apply --server-side --filename="$$crds" && kubectl wait --for=condition=Established --filename="$$crds" >/dev/null && \
		exec bin/cert-manager

##@ Operator SDK

.PHONY: sdk
sdk: ## Build operator-sdk, opm, helm, helm-operator and ansible-operator, once, which takes minutes. make env puts them on PATH.
	@$(writable) && scripts/run progress "compiling scripts/sdk" go -C scripts/sdk build "-ldflags=-s -w" -o ../../bin/build-sdk .
	@directory=$$(cd scripts/sdk && ../../bin/build-sdk) && ln -sfn "$$directory" bin/sdk && \
		echo 'operator-sdk, opm, helm, helm-operator, ansible-operator and scorecard-test are in bin/sdk: eval "$$(make -s env)" puts them on PATH'

.PHONY: test-sdk
test-sdk: $(TESTBED) ## Run the tests that need make sdk, and type the commands of the pages about Operator SDK. make test-all does this, too, once it is built.
	@[ -e bin/sdk ] || { echo "Operator SDK is not built: type make sdk, which compiles it once, for several minutes" >&2; exit 1; }
	@TESTBED_TIER=all CLUSTER=embedded go test -count=1 -v -timeout=0 -run='$(needs-sdk)' ./e2e/sdk ./docs ./tutorial
needs-sdk = ^Test(Versions|Bundle|Catalog|Faulty|Scorecard)|^TestCommands$$/^docs$$/^(bundle|older-posts|sdk-problems)\.md$$|^TestChapterCommands$$/^tutorial$$/^18-operator-sdk$$

.PHONY: build-bundle
build-bundle: $(TESTBED) controller-gen ## Write operator/bundle, which packs the operator as the image IMG for OLM, at VERSION. Needs make sdk.
	@$(if $(IMG),$(TESTBED) image check '$(IMG)',:)
	@$(MAKE) -C operator bundle bundle-validate $(if $(IMG),IMG='$(IMG)') $(if $(VERSION),VERSION='$(VERSION)') KUBECTL="'$(abspath $(TESTBED))'"

.PHONY: scorecard
scorecard: $(TESTBED) ## Run the tests of Operator SDK's scorecard for operator/bundle, without a cluster. Needs make sdk.
	@$(TESTBED) scorecard

##@ Without a network

.PHONY: bundle
bundle: bin/bundle bundled-sites ## Pack what this needs from the network into BUNDLE=file, for machines like this one or PLATFORMS="linux/amd64 darwin/arm64"; IMAGES="name ..." as well.
	@platforms=$$(bin/bundle platforms '$(PLATFORMS)') && for platform in $$platforms; do \
		go -C kind/kubernetes run . -platform=$$platform >/dev/null || exit; done
	@scripts/run progress 'packing $(BUNDLE)' bin/bundle pack -platforms='$(PLATFORMS)' -images='$(IMAGES)' '$(BUNDLE)'

# Below a path, too: without a network, make test-all compares both.
.PHONY: bundled-sites
bundled-sites: $(LEARNER)
	@$(LEARNER) publish --out=bin/site
	@$(LEARNER) publish --out=bin/site-below --base=/operator-testbed/

.PHONY: unbundle
unbundle: bin/bundle ## Unpack BUNDLE=file or BUNDLE=https://address into this machine's caches.
	@scripts/run progress 'unpacking $(BUNDLE)' bin/bundle unpack '$(BUNDLE)'

.PHONY: bin/bundle
bin/bundle:
	@scripts/run progress "compiling kind/bundle" go build "-ldflags=-s -w" -o $@ ./kind/bundle

##@ Pictures

.PHONY: demo-picture
demo-picture: embedded-cluster $(TESTBED) ## Draw the picture of make demo in the README, docs/demo.svg, from a run of it.
	@mkdir -p bin && $(TESTBED) --name=picture demo >bin/demo.txt; code=$$?; $(TESTBED) --name=picture down >/dev/null && exit $$code
	@go run ./docs/terminal -command='make demo' <bin/demo.txt >bin/demo.svg && mv bin/demo.svg docs/demo.svg

.PHONY: conditions-picture
conditions-picture: embedded-cluster $(TESTBED) ## Draw how conditions change, docs/conditions.svg, from a run of the operator of 05-failures.
	@mkdir -p bin && docs/conditions/record | go run ./docs/conditions >bin/conditions.svg && mv bin/conditions.svg docs/conditions.svg

##@ Measure

.PHONY: bench-cluster
bench-cluster: $(TESTBED) ## How fast a cluster starts, compared with envtest, and how much memory it needs. ARGS=--runs=9, ARGS=--json
	@$(TESTBED) bench cluster $(ARGS)

.PHONY: bench-kind
bench-kind: $(TESTBED) ## How fast a kind cluster is ready, compared with kind without the testbed. ARGS=--runs=5, ARGS=--json
	@$(TESTBED) bench kind $(ARGS)

.PHONY: bench-operator
bench-operator: $(TESTBED) ## What the operator costs, against a floor and kubebuilder's scaffold. ARGS=--objects=1,100
	@[ -x bin/scaffold/bin/manager ] || { rm -rf bin/scaffold && scripts/scaffold bin/scaffold >/dev/null; }
	@$(TESTBED) bench operator --scaffold=bin/scaffold $(ARGS)

##@ This machine

.PHONY: doctor
doctor: $(TESTBED) ## What this machine lacks, and the command that fixes it. ARGS=--network tries the network too.
	@$(TESTBED) doctor $(ARGS)

.PHONY: help
help: ## All targets.
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
	@$(call up-to-date,e2e kind/gocommand kind/home operator/api) || { $(writable); scripts/run progress "compiling the testbed's command line" \
		env $(compiling) go build "-ldflags=-s -w" -o $@ ./e2e/cmd/testbed; }

.PHONY: $(LEARNER)
$(LEARNER):
	@$(call up-to-date,e2e kind/gocommand kind/home operator/api tutorial/cmd tutorial/internal) || { $(writable); scripts/run progress "compiling bin/lab, the program behind make start and make check" \
		env $(compiling) go build "-ldflags=-s -w" -o $@ ./tutorial/cmd/lab; }
