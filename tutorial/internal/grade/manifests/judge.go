package manifests

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// Allowed is what the manifests of a submission may contain, computed from manifests that are trusted.
type Allowed struct {
	// For says whose they are in a refusal, such as "the operator of 04-status".
	For string

	kinds    map[schema.GroupKind]bool
	identity map[string]bool // the objects that are where others must not be
	// bound and boundInNamespaces are the rules that the operator gets in all namespaces, and in some. unbound are those of roles for
	// others, such as viewers.
	bound, boundInNamespaces, unbound []rbacv1.PolicyRule
	// called are the requests that the API server asks webhooks and policies about, as rules. mutated are those that they may change.
	called, mutated []rbacv1.PolicyRule
	// foreign are the subjects and roles of bindings that the trusted manifests do not have themselves.
	foreign map[string]bool
	// examples are the kinds of objects that are in samples and nowhere else: a suite makes its own.
	examples map[schema.GroupKind]bool
	// deployments are how many of them each path has that is loaded, at most.
	deployments map[string]int
	// plain are the CustomResourceDefinitions with a version without a status subresource.
	plain map[string]bool
	// converted are the spec.conversion of the CustomResourceDefinitions whose objects a webhook of the operator converts.
	converted map[string]any
}

// samples is the path with examples of custom resources.
const samples = "samples"

// kinds are those that each operator's manifests may have.
var kinds = []schema.GroupKind{
	{Kind: "Namespace"}, {Kind: "ServiceAccount"}, {Kind: "Service"}, {Kind: "ConfigMap"}, {Group: "apps", Kind: "Deployment"},
	{Group: rbacv1.GroupName, Kind: "ClusterRole"}, {Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"},
	{Group: rbacv1.GroupName, Kind: "Role"}, {Group: rbacv1.GroupName, Kind: "RoleBinding"},
	{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"},
}

// AllowedBy returns what manifests may contain that are to do what the trusted ones do: those of a chapter's solution, and those that
// a student began with.
func AllowedBy(owner string, trusted ...Rendered) (Allowed, error) {
	a := Allowed{
		For: owner, kinds: map[schema.GroupKind]bool{}, identity: map[string]bool{}, foreign: map[string]bool{},
		examples: map[schema.GroupKind]bool{}, deployments: map[string]int{}, plain: map[string]bool{}, converted: map[string]any{},
	}
	for _, kind := range kinds {
		a.kinds[kind] = true
	}
	for _, rendered := range trusted {
		for _, objects := range rendered.all() {
			for _, object := range objects {
				a.kinds[object.GroupVersionKind().GroupKind()] = true
				if conversion, found := conversionOf(object); found {
					a.converted[object.GetName()] = conversion
				}
			}
		}
		for _, object := range rendered.Loaded[samples] {
			if kind := object.GroupVersionKind().GroupKind(); !slices.Contains(kinds, kind) {
				a.examples[kind] = true
			}
		}
	}
	for _, rendered := range trusted {
		for name, objects := range rendered.Loaded {
			set, err := newSet(objects)
			if err != nil {
				return Allowed{}, err
			}
			a.deployments[name] = max(a.deployments[name], len(set.deployments))
			for _, object := range objects {
				if name != samples {
					delete(a.examples, object.GroupVersionKind().GroupKind())
				}
				if lacksStatus(object) != "" {
					a.plain[object.GetName()] = true
				}
			}
			for _, object := range objects {
				a.identity[identity(object)] = true
			}
			for _, role := range set.roles {
				bound, everywhere := role.boundBy(set.bindings)
				rules := families(role.rules)
				switch {
				case everywhere:
					a.bound = append(a.bound, rules...)
				case bound:
					a.boundInNamespaces = append(a.boundInNamespaces, rules...)
				default:
					a.unbound = append(a.unbound, rules...)
				}
			}
			for _, binding := range set.bindings {
				for _, name := range binding.foreign(set) {
					a.foreign[name] = true
				}
			}
			for _, caller := range set.callers {
				a.called = append(a.called, caller.rules...)
				if caller.mutates {
					a.mutated = append(a.mutated, caller.rules...)
				}
			}
		}
	}
	return a, nil
}

// all returns the objects of all that is loaded, and of each file.
func (r Rendered) all() [][]*Object {
	var all [][]*Object
	for _, from := range []map[string][]*Object{r.Loaded, r.Files} {
		for _, name := range slices.Sorted(maps.Keys(from)) {
			all = append(all, from[name])
		}
	}
	return all
}

// Judge returns a [RefusedError] of the first object that is not allowed, or nil.
func Judge(r Rendered, a Allowed) error {
	for _, objects := range r.all() {
		for _, object := range objects {
			if err := a.judgeKind(object); err != nil {
				return err
			}
		}
	}
	var sets []*set
	for _, name := range slices.Sorted(maps.Keys(r.Loaded)) {
		set, err := newSet(r.Loaded[name])
		if err != nil {
			return err
		}
		if err := a.judgeReadyMade(name, set); err != nil {
			return err
		}
		sets = append(sets, set)
	}
	// What one path has binds what another one has by the same name, once both are applied.
	var bindings []binding
	for _, set := range sets {
		bindings = append(bindings, set.bindings...)
	}
	for _, set := range sets {
		if err := a.judge(set, bindings); err != nil {
			return err
		}
	}
	return nil
}

// kustomization is the group of kustomize's own kinds, which are not applied.
const kustomization = "kustomize.config.k8s.io"

// judgeKind is about every document, also of files that are applied as they are.
func (a Allowed) judgeKind(object *Object) error {
	kind := object.GroupVersionKind().GroupKind()
	if !a.kinds[kind] && kind.Group != kustomization {
		return refuse("%s: manifests of %s may not have a %s; remove it", describe(object), a.For, kind.Kind)
	}
	if kind.Kind == "CustomResourceDefinition" {
		conversion, found := conversionOf(object)
		if found && !reflect.DeepEqual(conversion, a.converted[object.GetName()]) {
			return refuse("%s: it is converted by a webhook, but not as %s does it; use the chapter's spec.conversion, or none", describe(object), a.For)
		}
		for _, version := range versions(object) {
			name, root := version["name"], nested(version, "schema", "openAPIV3Schema")
			if field := statusDefault(root); field != "" {
				return refuse("%s: in version %v, %s has a default, but the operator writes the status; remove the default",
					describe(object), name, field)
			}
		}
	}
	return nil
}

// conversionOf returns the spec.conversion of a CustomResourceDefinition, and whether it has one that does anything.
func conversionOf(object *Object) (conversion any, found bool) {
	if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}) {
		return nil, false
	}
	conversion, _, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "conversion")
	strategy, _, err2 := unstructured.NestedString(object.Object, "spec", "conversion", "strategy")
	return conversion, err != nil || err2 != nil || strategy != "" && strategy != string(apiextensionsv1.NoneConverter)
}

// judgeReadyMade is about objects that would do what the operator is graded for, among those of a path that is loaded.
func (a Allowed) judgeReadyMade(path string, s *set) error {
	for _, object := range s.objects {
		if path != samples && a.examples[object.GroupVersionKind().GroupKind()] {
			return refuse("%s: it is an example, which is not part of config/%s; move it to config/%s", describe(object), path, samples)
		}
		if version := lacksStatus(object); version != "" && !a.plain[object.GetName()] {
			return refuse("%s: version %s lacks the status subresource; add its marker, and run make manifests", describe(object), version)
		}
	}
	most, known := a.deployments[path]
	if !known {
		most = slices.Max(append(slices.Collect(maps.Values(a.deployments)), 0))
	}
	if len(s.deployments) <= most {
		return nil
	}
	last := s.deployments[len(s.deployments)-1]
	for _, d := range s.deployments {
		if !a.identity[identityOf("Deployment.apps", d.Namespace, d.Name)] {
			last = d
		}
	}
	return refuse("Deployment %s: config/%s has %s, and %s needs %s there; remove it",
		last.Name, path, count(len(s.deployments), "Deployment"), a.For, count(most, "Deployment"))
}

// judge is about what is loaded together, and which of its roles are bound by any of the bindings.
func (a Allowed) judge(set *set, bindings []binding) error {
	for _, object := range set.objects {
		if err := a.judgePlace(set, object); err != nil {
			return err
		}
	}
	for _, deployment := range set.deployments {
		if err := a.judgeManager(set, deployment); err != nil {
			return err
		}
	}
	for _, service := range set.services {
		if service.Spec.Type == corev1.ServiceTypeExternalName || len(service.Spec.ExternalIPs) > 0 {
			return refuse("Service %s: it leads out of the cluster; remove externalName and externalIPs", service.Name)
		}
	}
	for _, role := range set.roles {
		if err := a.judgeRole(role, bindings); err != nil {
			return err
		}
	}
	for _, binding := range set.bindings {
		for _, name := range binding.foreign(set) {
			if !a.foreign[name] {
				return refuse("%s: it is about %s, which is not one of your own; bind your own roles to your own ServiceAccount", binding.name, name)
			}
		}
	}
	if set.url != "" {
		return refuse("%s: it calls a URL; name a Service of yours in clientConfig", set.url)
	}
	for _, caller := range set.callers {
		if _, more := validation.Covers(a.called, caller.rules); len(more) > 0 {
			return refuse("%s: it is asked about %s, which %s does not need; narrow its rules", caller.name, text(more), a.For)
		}
		if _, more := validation.Covers(a.mutated, caller.rules); caller.mutates && len(more) > 0 {
			return refuse("%s: it changes %s, which %s only validates; narrow its rules", caller.name, text(more), a.For)
		}
	}
	return nil
}

// system are namespaces and names of roles that belong to Kubernetes.
var system = regexp.MustCompile(`^(kube-.*|default|system:.*|cluster-admin|admin|edit|view)$`)

// judgePlace refuses objects outside of the operator's own namespace, where others may have permissions that it then gets.
func (a Allowed) judgePlace(set *set, object *Object) error {
	if a.identity[identity(object)] {
		return nil
	}
	namespace := object.GetNamespace()
	switch kind := object.GetKind(); {
	case kind == "Namespace":
		namespace = object.GetName()
	case kind == "ClusterRole" && system.MatchString(object.GetName()):
		return refuse("%s: the role belongs to Kubernetes; give yours another name", describe(object))
	}
	if system.MatchString(namespace) {
		return refuse("%s: the namespace %s belongs to Kubernetes; use one of your own", describe(object), namespace)
	}
	if namespace != "" && len(set.deployments) > 0 && namespace != set.deployments[0].Namespace {
		return refuse("%s: it is in the namespace %s, and the operator in %s; put it there", describe(object), namespace, set.deployments[0].Namespace)
	}
	return nil
}

// smuggled are variables that change how other programs run than the operator, or how it is run: those of the dynamic linker, of Go's
// runtime, of the testbed and of what finds the cluster.
var smuggled = regexp.MustCompile(`(?i)^(LD_.*|DYLD_.*|GO[A-Z0-9_]*|GLIBC_.*|MALLOC_.*|TESTBED_.*|KUBE.*|` +
	`CLUSTER|OPERATOR|MANIFESTS|HOME|PATH|TMPDIR|XDG_.*|SSL_.*|.*_PROXY)$`)

// judgeManager is about the operator's Deployment, which runs as a process here.
func (a Allowed) judgeManager(set *set, d *appsv1.Deployment) error {
	pod := d.Spec.Template.Spec
	if !set.accounts[types.NamespacedName{Namespace: d.Namespace, Name: pod.ServiceAccountName}] {
		return refuse("Deployment %s: its ServiceAccount %q is not among the manifests; add it, or name the one that is", d.Name, pod.ServiceAccountName)
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, variable := range container.Env {
			if smuggled.MatchString(variable.Name) {
				return refuse("Deployment %s: the variable %s is not one of the operator's; remove it", d.Name, variable.Name)
			}
		}
	}
	return nil
}

// judgeRole refuses more permissions than the trusted roles have in the same scope.
func (a Allowed) judgeRole(r *role, bindings []binding) error {
	if r.aggregated {
		return refuse("%s: it gets its rules from other roles; write them out", r.name)
	}
	allowed := slices.Clone(a.bound)
	switch bound, everywhere := r.boundBy(bindings); {
	case everywhere:
	case bound:
		allowed = append(allowed, a.boundInNamespaces...)
	default:
		allowed = slices.Concat(allowed, a.boundInNamespaces, a.unbound)
	}
	if _, more := validation.Covers(allowed, r.rules); len(more) > 0 {
		return refuse("%s: it grants %s, which %s does not need; remove that from your markers, and run make manifests", r.name, text(more), a.For)
	}
	return nil
}

// families returns the rules with those verbs added that give nothing new: a list has what get returns, update can do what patch does,
// and a deletion of each what a deletion of all does. A student who writes get where the chapter has list is not refused for it.
func families(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, rule := range rules {
		rule = *rule.DeepCopy()
		for _, family := range [][]string{{"list", "watch", "get"}, {"patch", "update"}, {"delete", "deletecollection"}} {
			if slices.ContainsFunc(family[:2], func(verb string) bool { return slices.Contains(rule.Verbs, verb) }) {
				rule.Verbs = append(rule.Verbs, family...)
			}
		}
		all = append(all, rule)
	}
	return all
}

// text names rules of one verb and one resource each in a sentence, the first three of them.
func text(rules []rbacv1.PolicyRule) string {
	var parts []string
	for _, rule := range rules {
		what := strings.Join(append(slices.Clone(rule.Resources), rule.NonResourceURLs...), ", ")
		if len(rule.APIGroups) > 0 && rule.APIGroups[0] != "" {
			what += "." + rule.APIGroups[0]
		}
		parts = append(parts, strings.Join(rule.Verbs, ", ")+" "+what)
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if len(parts) > 3 {
		parts = append(parts[:3], fmt.Sprintf("%d more", len(parts)-3))
	}
	return strings.Join(parts, ", ")
}

// role is a ClusterRole or a Role.
type role struct {
	name       string // as in a sentence
	key        string // as bindings refer to it
	rules      []rbacv1.PolicyRule
	aggregated bool
}

// binding is a ClusterRoleBinding or a RoleBinding.
type binding struct {
	name       string
	role       string // its key
	subjects   []rbacv1.Subject
	everywhere bool
}

// caller is what has the API server ask about requests: a configuration of webhooks, or a policy.
type caller struct {
	name    string
	rules   []rbacv1.PolicyRule
	mutates bool
}

// set is what is loaded together, by what it is for.
type set struct {
	objects     []*Object
	deployments []*appsv1.Deployment
	services    []*corev1.Service
	accounts    map[types.NamespacedName]bool
	roles       []*role
	bindings    []binding
	callers     []caller
	url         string // the first caller that calls one
}

// newSet sorts objects. One that is not what its kind says is refused.
func newSet(objects []*Object) (*set, error) {
	s := &set{objects: objects, accounts: map[types.NamespacedName]bool{}}
	for _, object := range objects {
		if err := s.add(object); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *set) add(object *Object) error {
	name := describe(object)
	var err error
	switch object.GetKind() {
	case "Deployment":
		s.deployments, err = appended(s.deployments, object)
	case "Service":
		s.services, err = appended(s.services, object)
	case "ServiceAccount":
		s.accounts[types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}] = true
	case "ClusterRole":
		var r rbacv1.ClusterRole
		err = convert(object, &r)
		s.roles = append(s.roles, &role{name, "ClusterRole " + r.Name, r.Rules, r.AggregationRule != nil})
	case "Role":
		var r rbacv1.Role
		err = convert(object, &r)
		s.roles = append(s.roles, &role{name, "Role " + r.Namespace + "/" + r.Name, r.Rules, false})
	case "ClusterRoleBinding":
		var b rbacv1.ClusterRoleBinding
		err = convert(object, &b)
		s.bindings = append(s.bindings, binding{name, b.RoleRef.Kind + " " + b.RoleRef.Name, b.Subjects, true})
	case "RoleBinding":
		var b rbacv1.RoleBinding
		err = convert(object, &b)
		key := b.RoleRef.Kind + " " + b.RoleRef.Name
		if b.RoleRef.Kind == "Role" {
			key = "Role " + b.Namespace + "/" + b.RoleRef.Name
		}
		s.bindings = append(s.bindings, binding{name, key, b.Subjects, false})
	case "ValidatingWebhookConfiguration":
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		err = convert(object, &c)
		for i := range c.Webhooks {
			s.calls(name, c.Webhooks[i].ClientConfig, c.Webhooks[i].Rules)
		}
	case "MutatingWebhookConfiguration":
		var c admissionregistrationv1.MutatingWebhookConfiguration
		err = convert(object, &c)
		for i := range c.Webhooks {
			s.calls(name, c.Webhooks[i].ClientConfig, c.Webhooks[i].Rules)
		}
	case "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy":
		var p struct {
			Spec struct {
				MatchConstraints struct {
					ResourceRules []admissionregistrationv1.NamedRuleWithOperations `json:"resourceRules"`
				} `json:"matchConstraints"`
			} `json:"spec"`
		}
		err = convert(object, &p)
		for _, rule := range p.Spec.MatchConstraints.ResourceRules {
			s.calls(name, admissionregistrationv1.WebhookClientConfig{}, []admissionregistrationv1.RuleWithOperations{rule.RuleWithOperations})
		}
	}
	if err != nil {
		return refuse("%s: it is not what its kind says: %v", name, err)
	}
	return nil
}

// calls adds what a webhook or a policy is asked about.
func (s *set) calls(name string, to admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations) {
	if to.URL != nil && s.url == "" {
		s.url = name
	}
	c := caller{name: name, mutates: strings.HasPrefix(name, "Mutating")}
	for _, rule := range rules {
		requests := rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: rule.Resources}
		for _, operation := range rule.Operations {
			requests.Verbs = append(requests.Verbs, string(operation))
		}
		c.rules = append(c.rules, requests)
	}
	s.callers = append(s.callers, c)
}

// boundBy reports whether any of the bindings binds the role, and whether one does so in all namespaces.
func (r *role) boundBy(bindings []binding) (bound, everywhere bool) {
	for _, b := range bindings {
		if b.role == r.key {
			bound, everywhere = true, everywhere || b.everywhere
		}
	}
	return bound, everywhere
}

// foreign returns the role and the subjects of a binding that are not among the objects.
func (b binding) foreign(s *set) []string {
	var names []string
	if !slices.ContainsFunc(s.roles, func(r *role) bool { return r.key == b.role }) {
		names = append(names, "the "+b.role)
	}
	for _, subject := range b.subjects {
		own := subject.Kind == rbacv1.ServiceAccountKind && s.accounts[types.NamespacedName{Namespace: subject.Namespace, Name: subject.Name}]
		if !own {
			names = append(names, fmt.Sprintf("the %s %s", subject.Kind, subject.Name))
		}
	}
	return names
}

// describe names an object in a sentence.
func describe(object *Object) string { return object.GetKind() + " " + object.GetName() }

// identity is which object it is.
func identity(object *Object) string {
	return identityOf(object.GroupVersionKind().GroupKind().String(), object.GetNamespace(), object.GetName())
}

func identityOf(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }

func convert(object *Object, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into)
}

// appended returns the list with the object as a T.
func appended[T any](list []*T, object *Object) ([]*T, error) {
	typed := new(T)
	err := convert(object, typed)
	return append(list, typed), err
}
