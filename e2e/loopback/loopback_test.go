package loopback_test

import (
	"fmt"
	"net"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/e2e/loopback"
)

func TestListen(t *testing.T) {
	g := NewWithT(t)
	listener, err := loopback.Listen()
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	at := listener.Addr().(*net.TCPAddr)
	g.Expect(at.IP.Equal(net.IPv4(127, 0, 0, 1))).To(BeTrue(), "%s is nobody's business but this machine's", at)
	g.Expect(at.Port).To(And(BeNumerically(">=", 20000), BeNumerically("<", 30000)), "outgoing connections stay away from there")
}

func TestFreePort(t *testing.T) {
	g := NewWithT(t)
	port, err := loopback.FreePort()
	g.Expect(err).NotTo(HaveOccurred())
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(listener.Close()).To(Succeed())
}
