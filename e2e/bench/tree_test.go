package bench

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestUsageBelow(t *testing.T) {
	one := func(pid, parent int) process {
		return process{pid: pid, parent: parent, Usage: Usage{CPU: time.Second, Memory: 1}}
	}
	// 7 has the children 8 and 9, and 9 has a child with a lower number, as they have after all numbers were used once.
	processes := []process{one(1, 0), one(3, 9), one(7, 1), one(8, 7), one(9, 7), one(10, 1)}
	g := NewWithT(t)
	used, found := usageBelow(processes, 7)
	g.Expect(found).To(BeTrue())
	g.Expect(used).To(Equal(Usage{CPU: 4 * time.Second, Memory: 4}))
	used, found = usageBelow(processes, 8)
	g.Expect(found).To(BeTrue())
	g.Expect(used).To(Equal(Usage{CPU: time.Second, Memory: 1}))
	_, found = usageBelow(processes, 11)
	g.Expect(found).To(BeFalse())
}
