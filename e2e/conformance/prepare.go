package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/example/operator-testbed/e2e/conformance/image"
	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// Foreign is an operator as its author distributes it.
type Foreign struct {
	// Operator is its executable, or its image: anything that image.Open takes.
	Operator string
	// Manifests is the directory of a kustomization or of YAML files, or a file such as install.yaml. It contains the
	// CustomResourceDefinition, the permissions, and the Deployment, StatefulSet or DaemonSet of the manager.
	Manifests string
	// CRDs are files of other CustomResourceDefinitions that the operator needs, and directories of such files.
	CRDs []string
	// Args and Env ("NAME=value") are added after those of the manager's Deployment, and therefore take precedence.
	Args, Env []string
	// Sample is the custom resource that it serves, or nil if there is a mapping.
	Sample *Sample
	// InPods says that its image runs in pods. Otherwise, its executable runs as a process.
	InPods bool
}

// Prepared is an operator that a suite can run.
type Prepared struct {
	// Binary is its executable, if it runs as a process.
	Binary string
	// Archive is a file with its image, as `docker save` writes it, if it runs in pods.
	Archive string
	// Manifests is a file with the manifests that install it.
	Manifests string
	// Notes are sentences about what differs from the author's manifests.
	Notes []string
}

// Prepare prepares the operator for a suite. It writes to the directory work, which must exist as long as the suite runs.
func (f Foreign) Prepare(ctx context.Context, work string) (Prepared, error) {
	rendered, err := manifest.Load(f.Manifests)
	if err != nil {
		return Prepared{}, err
	}
	rendered, others, err := f.selectManager(rendered)
	if err != nil {
		return Prepared{}, err
	}
	prepared := Prepared{Manifests: filepath.Join(work, "manifests.yaml")}
	if f.InPods {
		prepared.Archive, err = f.configurePods(ctx, rendered, work)
	} else {
		prepared.Binary, prepared.Notes, err = f.configure(ctx, rendered, work)
	}
	if err != nil {
		return Prepared{}, err
	}
	definitions, err := readDefinitions(f.CRDs)
	if err != nil {
		return Prepared{}, err
	}
	find := rendered.Manager
	if f.InPods {
		find = rendered.ManagerInPods
	}
	manager, err := find()
	if unknown := new(manifest.UnknownVariableError); errors.As(err, &unknown) {
		err = fmt.Errorf("%w, for example with --env=%s=VALUE", err, unknown.Variable)
	}
	if err != nil {
		return Prepared{}, err
	}
	objects, notes := leaveOut(append(definitions, rendered.Objects()...), manager.Certificates)
	if f.Sample != nil {
		if err := f.Sample.checkServed(objects); err != nil {
			return Prepared{}, err
		}
	}
	content, err := manifest.New(objects...).YAML()
	if err != nil {
		return Prepared{}, err
	}
	prepared.Notes = slices.Concat(others, notes, prepared.Notes)
	return prepared, os.WriteFile(prepared.Manifests, content, 0o600)
}

// readDefinitions reads the CustomResourceDefinitions at paths.
func readDefinitions(paths []string) ([]*unstructured.Unstructured, error) {
	var definitions []*unstructured.Unstructured
	for _, path := range paths {
		m, err := manifest.Load(path)
		if err != nil {
			return nil, err
		}
		definitions = append(definitions, m.Select(definition)...)
	}
	return definitions, nil
}

const (
	// definition is the kind of a CRD.
	definition = "CustomResourceDefinition"
	// issuer is the API group of cert-manager.
	issuer = "cert-manager.io"
)

// leaveOut returns the objects without those that the cluster can't have, and a note on each kind: those of kinds that neither
// Kubernetes nor the objects define, and webhooks, also those that convert objects, whose certificate was to be made by one of them.
// Where the manager expects the certificate in a directory, the testbed makes it.
func leaveOut(objects []*unstructured.Unstructured, certificates []string) (kept []*unstructured.Unstructured, notes []string) {
	defined := map[schema.GroupKind]bool{}
	for _, object := range objects {
		if object.GetKind() == definition {
			group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(object.Object, "spec", "names", "kind")
			defined[schema.GroupKind{Group: group, Kind: kind}] = true
		}
	}
	uncertified := false
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		if defined[gvk.GroupKind()] || gvk.Kind == definition || clientgoscheme.Scheme.Recognizes(gvk) {
			kept = append(kept, object)
			continue
		}
		uncertified = uncertified || gvk.Group == issuer
		notes = append(notes, fmt.Sprintf("left out %s %s: the cluster does not know the kind of %s", gvk.Kind, object.GetName(), gvk.GroupVersion()))
	}
	if len(certificates) > 0 {
		return kept, append(notes, fmt.Sprintf("made the certificate that the manager expects in %s", strings.Join(certificates, " and in ")))
	}
	if !uncertified {
		return kept, notes
	}
	const why = "the manager mounts no Secret and has no --webhook-cert-path, so its webhooks have no certificate"
	return slices.DeleteFunc(kept, func(object *unstructured.Unstructured) bool {
		if _, converts, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "conversion", "webhook"); converts {
			unstructured.RemoveNestedField(object.Object, "spec", "conversion")
			notes = append(notes, fmt.Sprintf("left out the conversion of %s: %s", object.GetName(), why))
		}
		isWebhook := strings.HasSuffix(object.GetKind(), "WebhookConfiguration")
		if isWebhook {
			notes = append(notes, fmt.Sprintf("left out %s %s: %s", object.GetKind(), object.GetName(), why))
		}
		return isWebhook
	}), notes
}

// program returns the executable, and what its image says of how to run it.
func (f Foreign) program(ctx context.Context, manager *corev1.Container, work string) (image.Program, error) {
	if image.IsProgram(f.Operator) {
		if err := image.CheckProgram(f.Operator); err != nil {
			return image.Program{}, err
		}
		path, err := filepath.Abs(f.Operator)
		return image.Program{Path: path, Args: manager.Command[min(1, len(manager.Command)):]}, err
	}
	img, err := image.Open(ctx, f.Operator)
	if err != nil {
		return image.Program{}, err
	}
	return img.Program(ctx, work, manager.Command, manager.Args)
}

// configure has the manager's Deployment say what the image and the options say, and returns the executable. As for a kubelet, the
// Deployment prevails over the image, and the options prevail over both. An operator that would elect a leader in its own namespace, but
// learns only from its pod's files which that is, does not elect one.
func (f Foreign) configure(ctx context.Context, m manifest.Set, work string) (binary string, notes []string, err error) {
	var program image.Program
	err = f.edit(m, func(container *corev1.Container) error {
		if program, err = f.program(ctx, container, work); err != nil {
			return err
		}
		container.Args = slices.Concat(program.Args, container.Args)
		if slices.ContainsFunc(container.Args, isElection) && !slices.ContainsFunc(container.Env, isNamespace) {
			container.Args = append(container.Args, electionFlag+"=false")
			notes = append(notes, "switched leader election off: outside of a pod, nothing says in which namespace the manager runs")
		}
		container.Args = append(container.Args, f.Args...)
		container.Env = slices.Concat(variables(program.Env), container.Env, variables(f.Env))
		return nil
	})
	return program.Path, notes, err
}

// configurePods has the manager's Deployment run the image, with the options, and returns an archive of the image.
func (f Foreign) configurePods(ctx context.Context, m manifest.Set, work string) (archive string, err error) {
	if image.IsProgram(f.Operator) {
		return "", fmt.Errorf("%s is an executable, and on a kind cluster the operator runs as an image: name the image instead, or use an embedded cluster", f.Operator)
	}
	img, err := image.Open(ctx, f.Operator)
	if err != nil {
		return "", err
	}
	archive = filepath.Join(work, "operator.tar")
	reference, err := img.Archive(archive)
	if err != nil {
		return "", err
	}
	return archive, f.edit(m, func(container *corev1.Container) error {
		container.Image, container.ImagePullPolicy = reference, corev1.PullIfNotPresent
		if len(f.Args) > 0 && len(container.Args) == 0 && len(container.Command) == 0 { // or they would replace the image's own
			if container.Args, err = img.Arguments(); err != nil {
				return err
			}
		}
		container.Args = append(container.Args, f.Args...)
		manifest.SetEnv(container, f.Env...)
		return nil
	})
}

// edit changes the container that runs the operator in the manager's Deployment.
func (f Foreign) edit(m manifest.Set, change func(*corev1.Container) error) error {
	object := m.Select("Deployment")[0]
	d, err := deploymentFrom(object)
	if err != nil {
		return err
	}
	if _, named := d.Spec.Template.Annotations[manifest.DefaultContainer]; !named {
		if runs := containersOf(d, f.Operator); len(runs) == 1 {
			metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, manifest.DefaultContainer, runs[0])
		}
	}
	container, err := manifest.ManagerContainer(d)
	if err != nil {
		return err
	}
	if err := change(container); err != nil {
		return err
	}
	object.Object, err = k8sruntime.DefaultUnstructuredConverter.ToUnstructured(d)
	return err
}

// electionFlag is what kubebuilder calls the flag that has an operator elect a leader.
const electionFlag = "--leader-elect"

func isElection(arg string) bool { return arg == electionFlag || arg == electionFlag+"=true" }

// isNamespace reports whether a variable has the namespace of its pod.
func isNamespace(v corev1.EnvVar) bool {
	return v.ValueFrom != nil && v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.FieldPath == "metadata.namespace"
}

// variables returns the variables ("NAME=value") in a container's form.
func variables(env []string) []corev1.EnvVar {
	var vars []corev1.EnvVar
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		vars = append(vars, corev1.EnvVar{Name: name, Value: value})
	}
	return vars
}
