package operators

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/operator-testbed/e2e/framework/manifest"
)

// memoryLimitOf returns the memory limit of the manager's first container, in MiB; zero if it has none.
func memoryLimitOf(m manifest.Set) (float64, error) {
	deployments := m.Select("Deployment")
	if len(deployments) != 1 {
		return 0, errors.New("the manifests do not have exactly one Deployment")
	}
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(deployments[0].Object, &d); err != nil {
		return 0, err
	}
	if len(d.Spec.Template.Spec.Containers) == 0 {
		return 0, errors.New("the Deployment has no container")
	}
	return float64(d.Spec.Template.Spec.Containers[0].Resources.Limits.Memory().Value()) / (1 << 20), nil
}

// Fit is how many objects an operator can serve within its memory limit.
type Fit struct {
	Subject string
	Limit   float64 // MiB
	// Least and Most are the measurements with the smallest and the largest number of objects.
	Least, Most Result
	// PerObject is how much the peak grows with each object between the two, in KiB.
	PerObject float64
	// Objects is how many fit if memory goes on growing like this.
	Objects int
}

// Fits computes how many objects fit, for each operator that has a limit and was measured with two numbers of objects. An operator whose
// peak does not grow has no such number.
func Fits(results []Result) []Fit {
	prompt, _ := byReadiness(results)
	bySubject := map[string]*Fit{}
	var order []string
	for _, r := range prompt {
		if !r.operator() || r.MemoryLimit == 0 {
			continue
		}
		fit := bySubject[r.Subject]
		if fit == nil {
			fit = &Fit{Subject: r.Subject, Limit: r.MemoryLimit, Least: r, Most: r}
			bySubject[r.Subject] = fit
			order = append(order, r.Subject)
		}
		if r.Objects < fit.Least.Objects {
			fit.Least = r
		}
		if r.Objects > fit.Most.Objects {
			fit.Most = r
		}
	}
	var fits []Fit
	for _, subject := range order {
		fit := *bySubject[subject]
		grown, more := fit.Most.PeakMemory-fit.Least.PeakMemory, fit.Most.Objects-fit.Least.Objects
		if grown <= 0 || more == 0 {
			continue
		}
		fit.PerObject = grown * 1024 / float64(more)
		fit.Objects = max(0, fit.Least.Objects+int((fit.Limit-fit.Least.PeakMemory)*1024/fit.PerObject))
		fits = append(fits, fit)
	}
	return fits
}
