package lab

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/board"
	"github.com/example/operator-testbed/tutorial/internal/class"
)

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// The board is where the copies report to, and takes the tokens that they have.
func TestBoardOf(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "ops")
	roster := filepath.Join(t.TempDir(), "students.csv")
	g.Expect(os.WriteFile(roster, []byte("id,name,email\ns01,Ada Lovelace,ada@example.com\n"), 0o600)).To(Succeed())
	c, err := class.New(t.Context(), root, dir, "04-status", roster, start)
	g.Expect(err).NotTo(HaveOccurred())

	ada := []board.Student{{ID: "s01", Name: "Ada Lovelace", Token: c.Token(c.Students[0])}}
	g.Expect(ada[0].Token).NotTo(BeEmpty())
	for _, test := range []struct {
		address, port string
		want          board.ServeOptions
	}{
		{"", "", board.ServeOptions{Port: board.Port}},
		{"", "7000", board.ServeOptions{Port: 7000}},
		{"http://192.168.1.10:8091", "", board.ServeOptions{Port: 8091, Hosts: []string{"192.168.1.10"}, LAN: true}},
		{"http://Teacher.local", "8092", board.ServeOptions{Port: 8092, Hosts: []string{"Teacher.local"}, LAN: true}},
	} {
		c.Board = test.address
		test.want.Title, test.want.Dir, test.want.Students = c.Name, dir, ada
		g.Expect(boardOf(c, test.port, test.want.LAN)).To(Equal(test.want), "%q %q", test.address, test.port)
	}
	for _, port := range []string{"http", "0", "-1", "65536"} {
		_, err := boardOf(c, port, false)
		g.Expect(err).To(MatchError("PORT=" + port + " is not a port: give one such as 8090"))
	}
	g.Expect(serveBoard(t.Context(), t.TempDir(), "", false)).To(HaveOccurred())
}
