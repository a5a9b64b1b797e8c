package framework

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
)

// seedVariable is the environment variable that names, sizes and ports are drawn from.
const seedVariable = "TESTBED_SEED"

// seedFromEnv returns the seed that $TESTBED_SEED sets, or 1.
func seedFromEnv() (uint64, error) {
	text := cmp.Or(os.Getenv(seedVariable), "1")
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("invalid %s %q: want a whole number such as 7", seedVariable, text)
	}
	return seed, nil
}

// values are the names, sizes and ports of one feature.
type values struct {
	mu           sync.Mutex
	random       *rand.Rand
	names        map[string]bool // which were returned
	sizes, ports map[int32]bool
}

// newValues returns the values of a feature. Features draw independently of each other, so that a feature gets the same values
// whichever others run, and in whatever order.
func newValues(seed uint64, suite, feature string) *values {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%s", suite, feature)
	return &values{random: rand.New(rand.NewPCG(seed, hash.Sum64())), names: map[string]bool{}, sizes: map[int32]bool{}, ports: map[int32]bool{}}
}

// name returns a name that it has not returned before.
func (v *values) name(prefix string) string {
	const letters = "bcdfghjklmnpqrstvwxz" // which make no words
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		var suffix [5]byte
		for i := range suffix {
			suffix[i] = letters[v.random.IntN(len(letters))]
		}
		name := prefix + "-" + string(suffix[:])
		if !v.names[name] {
			v.names[name] = true
			return name
		}
	}
}

// number returns a number from least to most, one that is not in returned as long as there is such a number.
func (v *values) number(returned map[int32]bool, least, most int32) int32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	var n int32
	for _, above := range v.random.Perm(int(most-least) + 1) {
		if n = least + int32(above); !returned[n] {
			break
		}
	}
	returned[n] = true
	return n
}

// NewName returns a name for an object: the prefix, a hyphen and five letters, which depend on $TESTBED_SEED, the feature, and earlier
// calls. No two calls in a feature return the same name.
func (s *Scope) NewName(prefix string) string { return s.values.name(prefix) }

// Size returns a size from least to most, which depends on the same values as a name from [Scope.NewName]. No two calls in a feature return
// the same size, even from different ranges, until all sizes of the range have been returned.
func (s *Scope) Size(least, most int32) int32 { return s.values.number(s.values.sizes, least, most) }

// Port returns a port from 49152 to 65535, which depends on the same values as a name from [Scope.NewName]. No service is registered for
// these ports, so none is a program's default. No two calls in a feature return the same port.
func (s *Scope) Port() int32 { return s.values.number(s.values.ports, 49152, 65535) }
