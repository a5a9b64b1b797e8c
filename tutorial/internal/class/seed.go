package class

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Seed is what the names, sizes and ports of one student's features are drawn from.
type Seed struct {
	// Text is the seed in results, and Number in TESTBED_SEED. They say the same.
	Text   string
	Number uint64
}

// Seed returns the seed of a student for an assignment. Those who hand in together have the same. Nobody can compute it without the
// secret of the class.
func (c *Class) Seed(a Assignment, s Student) Seed {
	number := binary.BigEndian.Uint64(c.sign("seed", c.Name, c.Team(a, s)[0].ID, a.Name()))
	return Seed{Text: fmt.Sprint(number), Number: number}
}

// Token returns what a student's copies show to the board, so that no other can report in that student's name.
func (c *Class) Token(s Student) string {
	return fmt.Sprintf("%x", c.sign("report", c.Name, s.ID)[:16])
}

// secretBytes is how long a secret is; a shorter one could be guessed.
const secretBytes = 32

// newSecret writes a new secret.
func newSecret(file string) error {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	return os.WriteFile(file, fmt.Appendf(nil, "%x\n", secret), 0o600)
}

// readSecret returns a function that signs with the secret in a file.
func readSecret(file string) (func(purpose string, parts ...string) []byte, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: restore it from a backup, or write 64 random hexadecimal digits, which changes all seeds", file)
	}
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others (mode %04o): type chmod 600 '%[1]s'", file, mode)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < 2*secretBytes {
		return nil, fmt.Errorf("%s is shorter than %d characters: restore it from a backup", file, 2*secretBytes)
	}
	return func(purpose string, parts ...string) []byte {
		sum := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(sum, "%q%q", purpose, parts)
		return sum.Sum(nil)
	}, nil
}
