package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/rest"

	"github.com/example/operator-testbed/e2e/cluster/existing"
	"github.com/example/operator-testbed/e2e/cmd/testbed/internal/operator"
	"github.com/example/operator-testbed/e2e/confirm"
	"github.com/example/operator-testbed/e2e/framework/inventory"
	"github.com/example/operator-testbed/e2e/framework/manifest"
	cachev1alpha1 "github.com/example/operator-testbed/operator/api/v1alpha1"
)

// intent is what a target of the Makefile is about to do on a cluster of the user's.
type intent struct {
	target   string // empty if it changes nothing that is there
	operator string // directory of the operator that the target is about
	force    bool   // deletes what is protected from deletion, and objects of others, too
}

func newConfirm() *cobra.Command {
	var about intent
	command := &cobra.Command{
		Use:   "confirm",
		Short: "Show which cluster of yours kubectl reaches, and ask whether to work on it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := confirmed(command.Context(), about)
			return err
		},
	}
	set := command.Flags()
	set.StringVar(&about.target, "before", "", "Makefile target that will run: install, uninstall, run, deploy, undeploy or e2e")
	set.StringVar(&about.operator, "operator", "operator", "directory of the operator that the target works on")
	set.BoolVar(&about.force, "force", false, "also delete protected objects, and namespaces with foreign objects")
	return command
}

// confirmed returns the existing cluster that KUBECONFIG leads to, once the
// user has seen which it is and what would become of it, and agreed.
func confirmed(ctx context.Context, about intent) (*existing.Provider, error) {
	cluster := existing.NewProvider()
	if _, err := cluster.Create(ctx); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "CLUSTER=existing is the context %s of %s: %s\n",
		cluster.GetKubectlContext(), cluster.GetKubeconfig(), cluster.KubernetesRestConfig().Host)
	consequences, err := about.consequences(ctx, cluster)
	if err != nil {
		return nil, err
	}
	for _, consequence := range consequences {
		fmt.Fprintln(os.Stderr, consequence)
	}
	if os.Getenv("YES") == "1" {
		return cluster, nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, errors.New("there is no terminal on which to confirm that cluster: add YES=1 to make's command line to agree")
	}
	return cluster, confirm.Ask(ctx, os.Stdin, os.Stderr, "Work on this cluster? [y/N] ")
}

// consequences says what the target would change or delete, one sentence for each custom resource. The error is why it must not run.
func (i intent) consequences(ctx context.Context, cluster *existing.Provider) ([]string, error) {
	if i.target == "" {
		return nil, nil
	}
	manifests, err := i.manifests()
	if err != nil {
		return nil, err
	}
	config := cluster.KubernetesRestConfig()
	if i.target == "e2e" {
		return nil, inventory.Refuse(ctx, config, cluster.GetKubectlContext(), manifests)
	}
	resources, err := inventory.Resources(ctx, config, manifests)
	if err != nil {
		return nil, err
	}
	var consequences []string
	for _, r := range resources {
		if i.target != "uninstall" && i.target != "undeploy" {
			if len(r.Objects) > 0 {
				consequences = append(consequences, fmt.Sprintf("make %s replaces the CustomResourceDefinition of %s.", i.target, r))
			}
			continue
		}
		if protected := r.Annotated(cachev1alpha1.AnnotationDeletionProtection, "true"); len(protected) > 0 && !i.force {
			return nil, fmt.Errorf("make %s deletes the CustomResourceDefinition %s, and with it objects that %s protects (%s): remove the annotation from them, or add FORCE=1",
				i.target, r.Definition, cachev1alpha1.AnnotationDeletionProtection, inventory.First(protected))
		}
		consequences = append(consequences, fmt.Sprintf("make %s deletes the CustomResourceDefinition %s, and with it %s.", i.target, r.Definition, r))
	}
	var more []string
	switch i.target {
	case "undeploy":
		more, err = i.deletedNamespaces(ctx, config, manifests)
	case "run":
		more, err = i.besideOthers(ctx, config, manifests)
	}
	return append(consequences, more...), err
}

// deletedNamespaces names the objects of others in the namespaces that the target deletes. They are a reason not to run it.
func (i intent) deletedNamespaces(ctx context.Context, config *rest.Config, m manifest.Set) ([]string, error) {
	shared, err := inventory.Shared(ctx, config, m)
	if err != nil {
		return nil, err
	}
	var consequences []string
	for _, namespace := range shared {
		if !i.force {
			return nil, fmt.Errorf("make %s deletes %s: move them to another namespace, or add FORCE=1", i.target, namespace)
		}
		consequences = append(consequences, fmt.Sprintf("make %s deletes %s.", i.target, namespace))
	}
	return consequences, nil
}

// besideOthers names the operators that already serve what an operator on this machine would serve, and says what it leaves behind.
func (i intent) besideOthers(ctx context.Context, config *rest.Config, m manifest.Set) ([]string, error) {
	operators, err := inventory.Operators(ctx, config, m)
	if err != nil {
		return nil, err
	}
	var consequences []string
	if len(operators) > 0 {
		consequences = append(consequences, fmt.Sprintf("An operator serves %s there already (%s): make %s starts another one beside it.",
			inventory.Kinds(m), strings.Join(operators, "; "), i.target))
	}
	var kinds []string
	// The operator is a process of this machine, and its webhooks are removed when it stops.
	for _, object := range m.Without("Deployment", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration") {
		if !slices.Contains(kinds, object.GetKind()) {
			kinds = append(kinds, object.GetKind())
		}
	}
	return append(consequences, fmt.Sprintf("After Ctrl-C, what make %s has installed stays (%s): %s removes it.",
		i.target, strings.Join(kinds, ", "), i.removal())), nil
}

// removal returns the command that removes what was installed for the operator.
func (i intent) removal() string {
	if text, err := os.ReadFile(filepath.Join(i.operator, "Makefile")); err == nil && strings.Contains(string(text), "\nundeploy:") {
		switch parent, name := filepath.Split(filepath.Clean(i.operator)); {
		case filepath.Base(parent) == "tutorial":
			return "make undeploy CLUSTER=existing STAGE=" + name
		case name == operator.Finished:
			return "make undeploy CLUSTER=existing"
		}
	}
	return "kubectl delete -k " + filepath.Join(i.operator, "config", "default")
}

// manifests returns what installs the operator: what config/default renders to, or config/crd for a chapter without a manager. The first
// chapters have neither.
func (i intent) manifests() (manifest.Set, error) {
	for _, kustomization := range []string{"default", "crd"} {
		directory := filepath.Join(i.operator, "config", kustomization)
		if _, err := os.Stat(filepath.Join(directory, "kustomization.yaml")); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return manifest.Render(directory)
	}
	return manifest.Set{}, nil
}
