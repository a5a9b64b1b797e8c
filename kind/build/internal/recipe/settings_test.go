package recipe

import "testing"

func TestPlanKeyFollowsItsInputs(t *testing.T) {
	plan := Plan{GoMod: []byte("module m\n"), GoSum: []byte("m v1 h1:x\n"), Programs: []string{"a", "b"}}
	key := PlanKey(plan, linux)
	with := func(change func(*Plan)) string {
		other := plan
		change(&other)
		return PlanKey(other, linux)
	}
	if again := with(func(p *Plan) { p.Programs = []string{"b", "a"} }); again != key {
		t.Errorf("the same inputs have the keys %s and %s", key, again)
	}
	elsewhere := linux
	elsewhere.BuildCache, elsewhere.ModuleCache, elsewhere.Proxy = "/a", "/b", "https://c"
	if again := PlanKey(plan, elsewhere); again != key {
		t.Error("the key depends on where the caches are")
	}

	newer := linux
	newer.GoVersion = "go1.27.0"
	for name, other := range map[string]string{
		"go.mod":      with(func(p *Plan) { p.GoMod = []byte("module n\n") }),
		"go.sum":      with(func(p *Plan) { p.GoSum = []byte("m v1 h1:y\n") }),
		"own sources": with(func(p *Plan) { p.Own = []byte("a.go") }),
		"programs":    with(func(p *Plan) { p.Programs = []string{"a"} }),
		"toolchain":   PlanKey(plan, newer),
	} {
		if other == key {
			t.Errorf("the key does not depend on the %s", name)
		}
	}
}

func TestKeyTellsListsApart(t *testing.T) {
	if key([]string{"ab", "c"}) == key([]string{"a", "bc"}) || key([]string{"a\nb"}) == key([]string{"a", "b"}) {
		t.Error("two lists of facts have one key")
	}
}

func TestParseSettings(t *testing.T) {
	s, err := ParseSettings([]byte(`{"GOVERSION": "go1.26.8", "GOOS": "linux", "GOARCH": "arm64", "GOPROXY": "off"}`))
	if err != nil || s.GoVersion != "go1.26.8" || s.Platform() != "linux/arm64" || s.Proxy != "off" {
		t.Errorf("got %+v and %v", s, err)
	}
	if _, err := ParseSettings([]byte("go: broken")); err == nil {
		t.Error("what is no JSON was read")
	}
}
