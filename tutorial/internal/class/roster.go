package class

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"unicode/utf8"
)

// rosterHeader is the first line of a roster. The last column may be left out.
const rosterHeader = "id,name,email,pair"

// parseRoster reads a roster. The error has a sentence for each mistake.
func parseRoster(file string, text []byte) ([]Student, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // as spreadsheets write it
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s is not in UTF-8: save it as CSV in UTF-8", file)
	}
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord = -1
	lines, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s is not CSV (%w): put names with commas or quotes between double quotes", file, err)
	}
	columns := strings.Split(rosterHeader, ",")
	if len(lines) == 0 || !slices.Equal(lines[0], columns) && !slices.Equal(lines[0], columns[:3]) {
		return nil, fmt.Errorf("%s does not start with the line %s, separated by commas: add it", file, rosterHeader)
	}
	wrong := &mistakes{}
	var students []Student
	ids, emails, pairs := map[string]bool{}, map[string]bool{}, map[string]int{}
	for i, fields := range lines[1:] {
		wrong.file = fmt.Sprintf("%s, student %d: ", file, i+1)
		if len(fields) < 3 || len(fields) > len(lines[0]) {
			wrong.add("there are %d fields: expected %s", len(fields), strings.Join(lines[0], ","))
			continue
		}
		for i, field := range fields {
			fields[i] = strings.TrimSpace(field)
		}
		s := Student{ID: fields[0], Name: fields[1], Email: fields[2]}
		if len(fields) == 4 {
			s.Pair = fields[3]
		}
		s.validate(wrong)
		// Some file systems ignore case, and so do mail servers.
		if id := strings.ToLower(s.ID); ids[id] {
			wrong.add("the id %s is there twice: give each student one of their own", s.ID)
		} else {
			ids[id] = true
		}
		if email := strings.ToLower(s.Email); email != "" && emails[email] {
			wrong.add("the email %s is there twice: give each student one of their own", s.Email)
		} else {
			emails[email] = true
		}
		pairs[s.Pair]++
		students = append(students, s)
	}
	wrong.file = file + ": "
	for _, s := range students {
		if s.Pair != "" && pairs[s.Pair] == 1 {
			wrong.add("%s is the only student of the pair %s: give the same name to the other", s.ID, s.Pair)
		}
	}
	return students, wrong.err()
}

func (s Student) validate(wrong *mistakes) {
	if !studentID.MatchString(s.ID) || strings.HasSuffix(s.ID, ".") {
		wrong.add("the id %q can't be the name of a directory: use up to 64 letters, digits, dots, hyphens and underscores, such as s07", s.ID)
	}
	if !named(s.Name) {
		wrong.add("the name %q is empty, longer than 100 bytes or has invisible characters: write it as gradebooks show it", s.Name)
	}
	if s.Pair != "" && !named(s.Pair) {
		wrong.add("the pair %q is longer than 100 bytes or has invisible characters: use a name such as a1", s.Pair)
	}
	if s.Email != "" {
		if address, err := mail.ParseAddress(s.Email); err != nil || address.Address != s.Email {
			wrong.add("the email %q is not an address: write one such as s07@example.com, or none", s.Email)
		}
	}
}
