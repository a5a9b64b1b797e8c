package assets

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/example/operator-testbed/kind/build/internal/download"
	"github.com/example/operator-testbed/kind/build/internal/recipe"
	"github.com/example/operator-testbed/kind/build/internal/release"
	"github.com/example/operator-testbed/kind/build/internal/store"
	"github.com/example/operator-testbed/kind/build/progress"
)

// A way is how the programs of one directory are made: those that some sites offer are
// downloaded, and all others are compiled. Each way has its own key, and so its own
// directory. Downloads are also kept by themselves, in downloads/, because they don't
// depend on Go's version, nor on what becomes of the other sites.
type way struct {
	// sites are the names of those whose programs are downloaded.
	sites  []string
	inputs []string
	store  store.Store
}

func (b *build) wayOf(sites []string) way {
	w := way{sites: sites, inputs: slices.Clone(b.inputs)}
	for _, f := range b.files {
		if w.downloads(f) {
			w.inputs = append(w.inputs, f.Inputs()...)
		}
	}
	w.store = store.Store(filepath.Join(b.root, "assets", recipe.Key(w.inputs)))
	return w
}

func (w way) downloads(f release.File) bool { return slices.Contains(w.sites, f.Site) }

// compiled reports whether a program is compiled.
func (b *build) compiled(p recipe.Program) bool {
	return !slices.Contains(b.options.Taken, p.Name) && !slices.ContainsFunc(b.files, func(f release.File) bool { return f.Program == p.Name && b.way.downloads(f) })
}

// complete looks for a way in which everything is there. If there is none, the way is the
// one in which everything is compiled.
func (b *build) complete() bool {
	var sites []string
	for _, f := range b.wanted() {
		if !slices.Contains(sites, f.Site) {
			sites = append(sites, f.Site)
		}
	}
	ways := [][]string{nil, sites}
	if len(sites) > 1 {
		for _, site := range sites {
			ways = append(ways, []string{site})
		}
	}
	for _, sites := range ways {
		b.way = b.wayOf(sites)
		if missing, _ := b.missing(); len(missing) == 0 {
			return true
		}
	}
	b.way = b.wayOf(nil)
	return false
}

// wanted are the files of the programs that are asked for.
func (b *build) wanted() []release.File {
	return slices.DeleteFunc(slices.Clone(b.files), func(f release.File) bool {
		return !slices.Contains(b.options.Along, f.Program) &&
			!slices.ContainsFunc(b.programs, func(p recipe.Program) bool { return p.Name == f.Program })
	})
}

// offer is what a site offers of the programs that are asked for.
type offer struct {
	site  string
	files []release.File
	// sums are texts with sums that were read already, by their addresses.
	sums map[string]string
}

// reachable are the sites that have answered, or from which everything is there already.
// Once programs that could be downloaded have been compiled, none is asked, so that the
// programs of one cluster are all made in the same way.
func (b *build) reachable(ctx context.Context) []offer {
	var offers []offer
	for _, f := range b.wanted() {
		if b.way.store.Has(f.Program) {
			return nil
		}
		i := slices.IndexFunc(offers, func(o offer) bool { return o.site == f.Site })
		if i < 0 {
			offers, i = append(offers, offer{site: f.Site, sums: map[string]string{}}), len(offers)
		}
		offers[i].files = append(offers[i].files, f)
	}
	if len(offers) == 0 {
		return nil
	}
	b.display.Step(progress.State{Doing: "ask " + strings.Join(names(offers), " and ") + " for releases"})
	failures := make([]error, len(offers))
	var asked sync.WaitGroup
	for i, o := range offers {
		asked.Go(func() { failures[i] = b.ask(ctx, o) })
	}
	asked.Wait()
	var reached []offer
	for i, o := range offers {
		if failures[i] == nil {
			reached = append(reached, o)
		} else if ctx.Err() == nil {
			b.sayCompiled(o, failures[i])
		}
	}
	return reached
}

func names(offers []offer) []string {
	var sites []string
	for _, o := range offers {
		sites = append(sites, o.site)
	}
	return sites
}

// ask gets the first sum that is needed from a site.
func (b *build) ask(ctx context.Context, o offer) error {
	for _, f := range o.files {
		if b.downloaded(f).Check(f.Program) == nil {
			continue
		}
		address := release.On(b.options.Mirror, f.Sums)
		text, err := download.Client{Transport: b.options.transport}.First(ctx, address)
		o.sums[address] = text
		return err
	}
	return nil
}

// downloaded is where a download is kept.
func (b *build) downloaded(f release.File) store.Store {
	return store.Store(filepath.Join(b.root, "downloads", recipe.Key(f.Inputs())))
}

// sayCompiled says why the programs of a site are compiled after all.
func (b *build) sayCompiled(o offer, why error) {
	var list []string
	for _, f := range o.files {
		if !slices.Contains(b.options.Along, f.Program) {
			list = append(list, f.Program)
		}
	}
	b.display.Say("compiling %s, because nothing can be downloaded from %s: %v", strings.Join(list, ", "), o.site, why)
}

// fetchAndCompile downloads what sites offer, and meanwhile compiles all other programs. What
// can't be downloaded is compiled afterwards. It returns what was downloaded.
func (b *build) fetchAndCompile(ctx context.Context, work string, offers []offer) ([]release.File, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.way = b.wayOf(names(offers))
	fetching := b.startFetching(ctx, work, offers, cancel)
	if err := b.compileMissing(ctx, work); err != nil {
		cancel(err)
		for range offers {
			<-fetching
		}
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	if len(offers) > 0 {
		b.display.Step(progress.State{Step: 2, Steps: 3, Doing: "everything else is compiled"})
	}
	var files []release.File
	var sites []string
	for range offers {
		fetched := <-fetching
		if fetched.err != nil && ctx.Err() == nil {
			b.sayCompiled(fetched.offer, fetched.err)
			continue
		}
		sites, files = append(sites, fetched.site), append(files, fetched.files...)
	}
	b.display.Beside(progress.State{})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(sites) == len(offers) {
		return files, nil
	}
	slices.Sort(sites)
	b.way = b.wayOf(sites)
	return files, b.compileMissing(ctx, work)
}

// compileMissing compiles the programs that are missing and not downloaded.
func (b *build) compileMissing(ctx context.Context, work string) error {
	missing, reasons := b.missing()
	for _, reason := range reasons {
		if errors.Is(reason, store.ErrDamaged) {
			b.display.Say("%v: building it again", reason)
		}
	}
	missing = slices.DeleteFunc(missing, func(p recipe.Program) bool { return !b.compiled(p) })
	if len(missing) == 0 {
		return nil
	}
	return b.compile(ctx, work, missing)
}

// fetched is what became of an offer.
type fetched struct {
	offer
	err error
}

// startFetching downloads everything at once. The channel has one value for each offer. An
// error that ends the build is passed to fail.
func (b *build) startFetching(ctx context.Context, work string, offers []offer, fail func(error)) <-chan fetched {
	done := make(chan fetched, len(offers))
	bytes := &meter{display: b.display, of: map[string][2]int64{}}
	for _, o := range offers {
		go func() {
			err := b.fetchAll(ctx, work, o, bytes)
			_, wrong := errors.AsType[*download.SumError](err)
			_, ofDisk := errors.AsType[*fs.PathError](err)
			if wrong || ofDisk {
				fail(err)
			}
			done <- fetched{o, err}
		}()
	}
	return done
}

// fetchAll downloads all files of an offer, or fails with the first error.
func (b *build) fetchAll(ctx context.Context, work string, o offer, bytes *meter) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, f := range o.files {
		if b.downloaded(f).Check(f.Program) == nil {
			continue
		}
		all.Go(func() {
			if err := b.fetch(ctx, work, f, o.sums[release.On(b.options.Mirror, f.Sums)], bytes); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// fetch downloads a file, and keeps it in downloads/ once it is known to be the right one.
func (b *build) fetch(ctx context.Context, work string, f release.File, sums string, bytes *meter) error {
	client := download.Client{Transport: b.options.transport}
	if sums == "" {
		var err error
		if sums, err = client.Text(ctx, release.On(b.options.Mirror, f.Sums)); err != nil {
			return err
		}
	}
	sum, err := release.Sum(sums, f.Address)
	if err != nil {
		return err
	}
	file, address := filepath.Join(work, f.Program), release.On(b.options.Mirror, f.Address)
	to := file
	if f.Member != "" {
		to = file + ".tar.gz"
	}
	err = client.Fetch(ctx, address, sum, to, func(done, total int64) { bytes.report(f.Program, done, total) })
	if err == nil && f.Member != "" {
		err = download.Unpack(to, f.Member, file)
	}
	if err != nil {
		return err
	}
	return b.downloaded(f).Add(work, f.Program, download.Redacted(address), f.Inputs())
}

// take puts a program that is elsewhere into the directory of the way.
func (b *build) take(work string, from store.Store, name string) error {
	if b.way.store.Check(name) == nil {
		return nil
	}
	origin, err := from.Link(name, work)
	if err != nil {
		return err
	}
	return b.way.store.Add(work, name, origin, b.way.inputs)
}

// meter adds up what several downloads report.
type meter struct {
	display *progress.Display
	mu      sync.Mutex
	of      map[string][2]int64
}

func (m *meter) report(program string, done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[program] = [2]int64{done, max(done, total)}
	var sum [2]int64
	for _, one := range m.of {
		sum[0], sum[1] = sum[0]+one[0], sum[1]+one[1]
	}
	m.display.Beside(progress.State{Doing: "download", Done: int(sum[0] / 1e6), Total: int(sum[1] / 1e6), Unit: "MB"})
}
