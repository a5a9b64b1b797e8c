package submission_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/operator-testbed/tutorial/internal/submission"
)

const root = "../../.."

// sound returns the files of a submission with which nothing is wrong, and others.
func sound(more map[string]string) map[string]string {
	files := map[string]string{
		".stage":                            "04-status\n",
		"cmd/main.go":                       "package main\n\nfunc main() {}\n",
		"config/default/kustomization.yaml": "resources: [../manager]\n",
		"go.mod":                            "module example.com/memcached-operator\n\ngo 1.26.0\n\nrequire k8s.io/api v0.37.0\n",
		"hack/tools/go.mod":                 "module example.com/memcached-operator/hack/tools\n",
		"docs/Größe und Form.md":            "Names may have spaces and letters of any language.\n",
	}
	maps.Copy(files, more)
	return files
}

// directory writes files into a new directory.
func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// archive writes an archive of a student's own making.
func archive(t *testing.T, headers ...tar.Header) string {
	t.Helper()
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	writer := tar.NewWriter(compressed)
	for _, header := range headers {
		text := header.Linkname
		if header.Typeflag == 0 {
			header.Typeflag, header.Linkname, header.Size = tar.TypeReg, "", int64(len(text))
		} else {
			text = ""
		}
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(writer.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return written(t, packed.Bytes())
}

func written(t *testing.T, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s07.tar.gz")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// headers returns the entries of an archive with files: the content is in Linkname.
func headers(files map[string]string) []tar.Header {
	var all []tar.Header
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, tar.Header{Name: name, Linkname: files[name], Mode: 0o644})
	}
	return all
}

// git runs git in a directory, with nothing of this machine's configuration.
func git(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=s07",
		"GIT_AUTHOR_EMAIL=s07@example.com", "GIT_COMMITTER_NAME=s07", "GIT_COMMITTER_EMAIL=s07@example.com")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a directory a git repository with a commit of all files.
func repository(t *testing.T, dir string) string {
	t.Helper()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, dir, "add", "--all", "--force", ".")
	git(t, dir, "commit", "--quiet", "--message=Hand in")
	return dir
}

// A submission is the same whether it comes as a directory, an archive or a repository, and hashing it again changes nothing.
func TestThreeForms(t *testing.T) {
	g := NewWithT(t)
	files := sound(nil)
	dir := directory(t, files)
	want, err := submission.Hash(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(want).To(MatchRegexp("^sha256:[0-9a-f]{64}$"))
	g.Expect(submission.Judge(root, dir)).To(Succeed())

	bare := filepath.Join(t.TempDir(), "s07.git")
	git(t, ".", "clone", "--quiet", "--bare", repository(t, directory(t, files)), bare)
	packed := filepath.Join(t.TempDir(), "s07.tar.gz")
	_, err = submission.Pack(root, dir, packed)
	g.Expect(err).NotTo(HaveOccurred())
	wrapped := map[string]string{"copy/bin/manager": strings.Repeat("x", submission.MaxFileBytes+1)}
	for name, text := range files {
		wrapped["copy/"+name] = text
	}
	dir, to := repository(t, dir), t.TempDir()
	for form, accept := range map[string]func(to string) error{
		"directory":       func(to string) error { return submission.Copy(root, dir, to) },
		"archive":         func(to string) error { return submission.Unpack(root, packed, to) },
		"archive by hand": func(to string) error { return submission.Unpack(root, archive(t, headers(wrapped)...), to) },
		"bare":            func(to string) error { _, err := submission.Clone(t.Context(), root, bare, to); return err },
		"repository": func(to string) error {
			_, err := submission.Clone(t.Context(), root, dir, to)
			return err
		},
	} {
		to := filepath.Join(to, form)
		g.Expect(accept(to)).To(Succeed(), form)
		g.Expect(submission.Hash(to)).To(Equal(want), form)
		g.Expect(accept(to)).To(MatchError(ContainSubstring("name a new directory")), form)
	}

	g.Expect(os.WriteFile(filepath.Join(dir, submission.HintsFile), []byte("{}\n"), 0o600)).To(Succeed())
	g.Expect(submission.Hash(dir)).To(Equal(want), "a hint does not make another submission of it")
	g.Expect(os.Rename(filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.mood"))).To(Succeed())
	g.Expect(submission.Hash(dir)).NotTo(Equal(want))
}

// What is wrong with a file is wrong in each form, and the sentence names the file.
func TestRefused(t *testing.T) {
	module := func(more string) map[string]string {
		return map[string]string{"go.mod": sound(nil)["go.mod"] + more + "\n"}
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
		inGit bool // try a repository, too, which takes longer
	}{
		"a vendor directory":  {map[string]string{"vendor/modules.txt": ""}, "vendor/modules.txt is in a vendor directory", false},
		"a workspace":         {map[string]string{"go.work": "go 1.26\n"}, "go.work would replace modules", false},
		"a replacement":       {module("replace k8s.io/api => /etc"), "go.mod replaces k8s.io/api, which", false},
		"a toolchain":         {module("toolchain go1.27.0"), "go.mod chooses the toolchain go1.27.0, which", false},
		"another module":      {module("require example.com/evil v1.0.0"), "go.mod requires example.com/evil, which is not a module of the repository", false},
		"another version":     {module("require k8s.io/client-go v0.36.0"), "go.mod requires k8s.io/client-go v0.36.0: the repository has v0.37.0", false},
		"a broken go.mod":     {module("require )"), "go.mod can't be read (go.mod:6: ", false},
		"a nested module":     {map[string]string{"api/go.mod": "module x\n"}, "api/go.mod makes a module of its own", false},
		"cgo":                 {map[string]string{"cmd/c.go": "package main\n\n// #include </etc/passwd>\nimport \"C\"\n"}, `cmd/c.go imports "C"`, true},
		"cgo in back quotes":  {map[string]string{"cmd/c.go": "package main\n\nimport (\n\t\"os\"\n\t_ `C`\n)\n"}, `cmd/c.go imports "C"`, false},
		"assembler":           {map[string]string{"cmd/x_amd64.s": ""}, "cmd/x_amd64.s is C, assembler or another language", false},
		"preprocessed":        {map[string]string{"cmd/x.S": ""}, "cmd/x.S is C, assembler or another language", false},
		"an object file":      {map[string]string{"cmd/x.syso": ""}, "cmd/x.syso is C, assembler or another language", false},
		"a header":            {map[string]string{"cmd/x.h": ""}, "cmd/x.h is C, assembler or another language", false},
		"two chapters":        {map[string]string{".stage": "04-status\n06-watches\n"}, ".stage does not hold one name", false},
		"a path as a lab":     {map[string]string{".lab": "../../x"}, ".lab does not hold one name", false},
		"a large file":        {map[string]string{"cmd/manager": strings.Repeat("x", submission.MaxFileBytes+1)}, "cmd/manager is larger than 1 MiB: ", true},
		"a control character": {map[string]string{"cmd/\x1b[2J.go": ""}, `"cmd/\x1b[2J.go" has a control character`, true},
		"text backwards":      {map[string]string{"cmd/\u202eog.go": ""}, `"cmd/\u202eog.go" has a control character`, false},
		"names in one case":   {map[string]string{"cmd/Main.go": ""}, "cmd/main.go has the same name as cmd/Main.go", true},
		"a long name":         {map[string]string{strings.Repeat("x", 201): ""}, "... is too long", false},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "darwin" && name == "names in one case" {
				t.Skip("this system's directories can't hold both files")
			}
			g := NewWithT(t)
			files := sound(test.files)
			dir, to := directory(t, files), filepath.Join(t.TempDir(), "to")
			refused := func(err error) {
				t.Helper()
				var refusal *submission.RefusedError
				g.Expect(errors.As(err, &refusal)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(test.want))
				g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
				g.Expect(to).NotTo(BeAnExistingFile())
			}
			refused(submission.Judge(root, dir))
			refused(submission.Copy(root, dir, to))
			refused(submission.Unpack(root, archive(t, headers(files)...), to))
			_, err := submission.Pack(root, dir, to)
			refused(err)
			if test.inGit {
				_, err = submission.Clone(t.Context(), root, repository(t, dir), to)
				refused(err)
			}
		})
	}
}

func TestRefusedDirectories(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(dir string) error
		want    string
	}{
		"a link to a file":      {func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, "cmd", "x.go")) }, "cmd/x.go is a symbolic link"},
		"a link to a directory": {func(dir string) error { return os.Symlink("/etc", filepath.Join(dir, "etc")) }, "etc is a symbolic link"},
		"a pipe":                {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "cmd", "x.go"), 0o600) }, "cmd/x.go is a named pipe"},
		"not UTF-8":             {func(dir string) error { return os.WriteFile(dir+"/caf\xe9.go", nil, 0o600) }, `"caf\xe9.go" is not a name in UTF-8`},
		"no chapter":            {func(dir string) error { return os.Remove(filepath.Join(dir, ".stage")) }, ".stage is missing: hand in a copy that make start"},
		"not a directory": {func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Symlink(root, dir))
		}, "copy is not a directory"},
		"many directories": {func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, strings.Repeat(strings.Repeat("x", 100)+"/", 6)), 0o755)
		}, "is too long"},
		"many files": {func(dir string) (err error) {
			for i := range submission.MaxFiles + 1 {
				err = errors.Join(err, os.Mkdir(filepath.Join(dir, strconv.Itoa(i)), 0o755))
			}
			return err
		}, "has too many files: hand in at most 2000"},
		"many bytes": {func(dir string) (err error) {
			for i := range submission.MaxBytes / submission.MaxFileBytes {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, "x"+strings.Repeat("y", i)), make([]byte, submission.MaxFileBytes), 0o600))
			}
			return err
		}, " makes the submission larger than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "darwin" && name == "not UTF-8" {
				t.Skip("this system's directories can't hold the file")
			}
			g := NewWithT(t)
			dir := directory(t, sound(nil))
			g.Expect(test.prepare(dir)).To(Succeed())
			to := filepath.Join(t.TempDir(), "to")
			g.Expect(submission.Copy(root, dir, to)).To(MatchError(ContainSubstring(test.want)))
			g.Expect(to).NotTo(BeAnExistingFile())
			var refusal *submission.RefusedError
			g.Expect(errors.As(submission.Judge(root, dir), &refusal)).To(BeTrue())
		})
	}
}

func TestHostileArchives(t *testing.T) {
	zeros := make([]byte, submission.MaxFileBytes)
	many := make([]tar.Header, submission.MaxFiles+1)
	for i := range many {
		many[i] = tar.Header{Name: fmt.Sprintf("x/%d", i)}
	}
	var large []tar.Header
	for i := range submission.MaxBytes / len(zeros) {
		large = append(large, tar.Header{Name: "x" + strings.Repeat("y", i), Linkname: string(zeros)})
	}
	var beyond bytes.Buffer // 64 MiB of zeros are the end of an archive, and then of another
	compressed := gzip.NewWriter(&beyond)
	if err := tar.NewWriter(compressed).WriteHeader(&tar.Header{Name: "bin/x", Typeflag: tar.TypeReg, Size: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	for range 64 {
		if _, err := compressed.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(archive(t, headers(sound(nil))...))
	if err != nil {
		t.Fatal(err)
	}
	with := func(header tar.Header) string { return archive(t, append(headers(sound(nil)), header)...) }
	for name, test := range map[string]struct{ archive, want string }{
		"a name above":         {with(tar.Header{Name: "../escaped"}), "../escaped leads out of its directory"},
		"a name above, inside": {with(tar.Header{Name: "bin/../../escaped"}), "bin/../../escaped leads out of its directory"},
		"an absolute name":     {with(tar.Header{Name: "/escaped"}), "/escaped is an absolute path"},
		"a directory above":    {with(tar.Header{Name: "../", Typeflag: tar.TypeDir}), ".. leads out of its directory"},
		"a double slash":       {with(tar.Header{Name: "cmd//x.go"}), "cmd//x.go is not a clean path"},
		"a symbolic link":      {with(tar.Header{Name: "cmd/x.go", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), "cmd/x.go is a symbolic link"},
		"a hard link":          {with(tar.Header{Name: "cmd/x.go", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}), "cmd/x.go is a symbolic link"},
		"a device":             {with(tar.Header{Name: "cmd/x.go", Typeflag: tar.TypeChar}), "cmd/x.go is a device"},
		"a pipe":               {with(tar.Header{Name: "cmd/x.go", Typeflag: tar.TypeFifo}), "cmd/x.go is a named pipe"},
		"a file twice":         {with(tar.Header{Name: "./cmd/main.go"}), "cmd/main.go is there twice"},
		"a file as directory":  {with(tar.Header{Name: "cmd/main.go/x"}), "cmd/main.go/x has the same name as cmd/main.go, "},
		"a directory as file":  {with(tar.Header{Name: "cmd"}), "cmd has the same name as cmd/, "},
		"not UTF-8":            {with(tar.Header{Name: "caf\xe9.go", Format: tar.FormatGNU}), `"caf\xe9.go" is not a name in UTF-8`},
		"too many files":       {archive(t, many...), "s07.tar.gz has more than 2000 files in it"},
		"too many bytes":       {archive(t, append(large, headers(sound(nil))...)...), " makes the submission larger than 16 MiB"},
		"a bomb":               {written(t, beyond.Bytes()), "s07.tar.gz has more than 23 MiB in it"},
		"a large archive":      {written(t, make([]byte, 24<<20)), "s07.tar.gz is larger than 23 MiB"},
		"cut off":              {written(t, whole[:len(whole)/2]), "s07.tar.gz can't be read to its end (unexpected EOF)"},
		"not packed":           {written(t, []byte("PK\x03\x04")), "s07.tar.gz is not an archive that gzip has packed"},
		"empty":                {written(t, nil), "s07.tar.gz is not an archive that gzip has packed"},
		"a directory":          {t.TempDir(), " is not a file"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			above := t.TempDir()
			err := submission.Unpack(root, test.archive, filepath.Join(above, "to", "here"))
			var refusal *submission.RefusedError
			g.Expect(errors.As(err, &refusal)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(test.want))
			g.Expect(os.ReadDir(above)).To(BeEmpty())
		})
	}
	linked := filepath.Join(t.TempDir(), "s08.tar.gz")
	NewWithT(t).Expect(os.Symlink(with(tar.Header{Name: "x"}), linked)).To(Succeed())
	NewWithT(t).Expect(submission.Unpack(root, linked, filepath.Join(t.TempDir(), "to"))).To(MatchError(ContainSubstring("s08.tar.gz is a symbolic link")))
}

// Everything that a repository can name for git to run writes to one file, which must not be there afterwards.
func TestHostileRepositoryRunsNothing(t *testing.T) {
	g := NewWithT(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	g.Expect(os.WriteFile(program, []byte("#!/bin/sh\necho $0 \"$@\" >>"+ran+"\nexec cat\n"), 0o700)).To(Succeed())
	dir := repository(t, directory(t, sound(map[string]string{
		".gitattributes": "*.go filter=evil diff=evil export-subst ident\n",
		"cmd/sign.go":    "package main // $Format:%G?$ $Id$\n",
	})))
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand", "credential.helper",
		"uploadpack.packObjectsHook", "remote.origin.uploadpack", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
		"diff.evil.command", "diff.evil.textconv", "diff.external", "gpg.program", "gpg.ssh.program", "tar.tar.command", "tar.umask.command",
	} {
		git(t, dir, "config", key, program)
	}
	for key, value := range map[string]string{
		"core.hooksPath": filepath.Dir(program), "remote.origin.url": "ext::" + program, "remote.origin.promisor": "true",
		"core.repositoryformatversion": "1", "extensions.partialClone": "origin", "protocol.allow": "always",
	} {
		git(t, t.TempDir(), "config", "--file", filepath.Join(dir, ".git", "config"), key, value)
	}
	for _, hook := range []string{"post-checkout", "reference-transaction", "pre-receive", "post-update"} {
		g.Expect(os.Symlink(program, filepath.Join(dir, ".git", "hooks", hook))).To(Succeed())
	}
	to := filepath.Join(t.TempDir(), "to")
	commit, err := submission.Clone(t.Context(), root, dir, to)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(commit).To(MatchRegexp("^[0-9a-f]{40}$"))
	g.Expect(os.ReadFile(filepath.Join(to, "cmd", "sign.go"))).To(BeEquivalentTo("package main // $Format:%G?$ $Id$\n"))
	g.Expect(filepath.Join(to, ".git")).NotTo(BeAnExistingFile())
	g.Expect(ran).NotTo(BeAnExistingFile())

	// Its twin: the file appears when git runs in the repository, so the test can see it.
	twin := exec.CommandContext(t.Context(), "git", "archive", "--format=tar", "HEAD")
	twin.Dir = dir
	twin.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	_ = twin.Run()
	g.Expect(ran).To(BeAnExistingFile())
}

func TestRefusedRepositories(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"a symbolic link": {func(t *testing.T, dir string) {
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "cmd", "x.go")); err != nil {
				t.Fatal(err)
			}
			repository(t, dir)
		}, "cmd/x.go is a symbolic link"},
		"a submodule": {func(t *testing.T, dir string) {
			repository(t, dir)
			git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
			git(t, dir, "commit", "--quiet", "--message=Add")
		}, "sub is a submodule"},
		"no commit":        {func(t *testing.T, dir string) { git(t, dir, "init", "--quiet") }, "copy has no commit on the branch of its HEAD"},
		"not a repository": {func(*testing.T, string) {}, "copy has no commit on the branch of its HEAD"},
		"somebody else's objects": {func(t *testing.T, dir string) {
			// The commit is only in a repository that this one borrows from.
			theirs := repository(t, directory(t, sound(nil)))
			git(t, dir, "init", "--quiet", "--initial-branch=main")
			alternates := filepath.Join(dir, ".git", "objects", "info", "alternates")
			if err := os.WriteFile(alternates, []byte(filepath.Join(theirs, ".git", "objects")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "update-ref", "refs/heads/main", git(t, theirs, "rev-parse", "HEAD"))
		}, "copy can't be read by git ("},
		"linked objects": {func(t *testing.T, dir string) {
			theirs := repository(t, directory(t, sound(nil)))
			repository(t, dir)
			objects := filepath.Join(dir, ".git", "objects")
			if err := errors.Join(os.RemoveAll(objects), os.Symlink(filepath.Join(theirs, ".git", "objects"), objects)); err != nil {
				t.Fatal(err)
			}
		}, "copy has no objects that can be read"},
		"an object that is as large as memory": {func(t *testing.T, dir string) {
			repository(t, dir)
			message := filepath.Join(t.TempDir(), "message")
			if err := os.WriteFile(message, make([]byte, 40<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			tree := "tree " + git(t, dir, "rev-parse", "HEAD^{tree}") + "\nauthor s07 <s07> 0 +0000\ncommitter s07 <s07> 0 +0000\n\n"
			if err := os.WriteFile(message, append([]byte(tree), bytes.Repeat([]byte("x"), 40<<20)...), 0o600); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "update-ref", "refs/heads/main", git(t, dir, "hash-object", "-t", "commit", "-w", message))
		}, "copy can't be read by git (fatal: attempting to allocate"},
		"a damaged object": {func(t *testing.T, dir string) {
			repository(t, dir)
			id := git(t, dir, "rev-parse", "HEAD:cmd")
			if err := os.Remove(filepath.Join(dir, ".git", "objects", id[:2], id[2:])); err != nil {
				t.Fatal(err)
			}
		}, "copy can't be read by git ("},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := directory(t, sound(nil))
			test.prepare(t, dir)
			to := filepath.Join(t.TempDir(), "to")
			_, err := submission.Clone(t.Context(), root, dir, to)
			var refusal *submission.RefusedError
			g.Expect(errors.As(err, &refusal)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring(test.want))
			g.Expect(to).NotTo(BeAnExistingFile())
		})
	}
}

// Two archives of one submission are equal, whenever and by whomever they were made.
func TestPackIsDeterministic(t *testing.T) {
	g := NewWithT(t)
	var packed [][]byte
	for i, more := range []map[string]string{nil, {
		"bin/manager": strings.Repeat("x", submission.MaxFileBytes+1), ".git/config": "", ".vscode/settings.json": "", "cmd/main.go~": "",
		"cmd/.main.go.swp": "", ".DS_Store": "", ".class": `{"token":"secret"}`, ".reported": "{}",
	}} {
		dir := directory(t, sound(more))
		at := time.Unix(int64(i)*1e9, 0)
		g.Expect(os.Chtimes(filepath.Join(dir, "go.mod"), at, at)).To(Succeed())
		g.Expect(os.Chmod(filepath.Join(dir, "go.mod"), os.FileMode(0o600|i*0o044))).To(Succeed())
		archive := filepath.Join(t.TempDir(), "s07.tar.gz")
		_, err := submission.Pack(root, dir, archive)
		g.Expect(err).NotTo(HaveOccurred())
		text, err := os.ReadFile(archive)
		g.Expect(err).NotTo(HaveOccurred())
		packed = append(packed, text)
		g.Expect(os.ReadDir(filepath.Dir(archive))).To(HaveLen(1), "nothing is left beside it")
	}
	g.Expect(packed[0]).To(Equal(packed[1]))
}

func TestRecord(t *testing.T) {
	g := NewWithT(t)
	dir := repository(t, directory(t, sound(map[string]string{
		".lab":   "hands-off\n",
		".class": "class: ops\nstudent: s07\ntoken: secret\n",
		".hints": `{"1":2,"-1":1}`,
		".events": `{"kind":"check","at":"2026-11-20T10:00:00Z","outcome":"fail","passed":1,"of":5,"first_failed":"TestNodes"}
{"kind":"check","at":"2026-11-21T10:00:00Z","outcome":"fail","passed":3,"of":5,"first_failed":"TestAvailable","took_ms":60000}
{"kind":"hint","at":"2026-11-22T10:00:00Z","outcome":"","passed":0,"of":0}
{"kind":"check","at":"2026-11-`,
	})))
	changed := time.Date(2026, 11, 21, 9, 58, 59, 0, time.UTC)
	for _, file := range []string{"cmd/main.go", "go.mod", "hack/tools/go.mod", "config/default/kustomization.yaml", "docs/Größe und Form.md"} {
		g.Expect(os.Chtimes(filepath.Join(dir, file), changed, changed)).To(Succeed())
	}
	archive := filepath.Join(t.TempDir(), "s07.tar.gz")
	packed, err := submission.Pack(root, dir, archive)
	g.Expect(err).NotTo(HaveOccurred())
	hash, err := submission.Hash(dir)
	g.Expect(err).NotTo(HaveOccurred())
	want := submission.Record{
		Schema: submission.RecordSchema, Stage: "04-status", Lab: "hands-off", Student: "s07", Submission: hash,
		Commit: git(t, dir, "rev-parse", "HEAD"), Hints: 3,
		LastCheck: &submission.Check{
			At: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Outcome: "fail", Passed: 3, Of: 5, FirstFailed: "TestAvailable", TookMS: 60000,
		},
	}
	g.Expect(packed.Record).To(Equal(want))
	g.Expect(packed.Changed).To(BeEmpty())
	g.Expect(packed.Files).To(Equal([]string{
		".events", ".hints", ".lab", ".stage", ".submission", "cmd/main.go", "config/default/kustomization.yaml",
		"docs/Größe und Form.md", "go.mod", "hack/tools/go.mod",
	}))
	to := filepath.Join(t.TempDir(), "to")
	g.Expect(submission.Unpack(root, archive, to)).To(Succeed())
	g.Expect(submission.Hash(to)).To(Equal(hash))

	// A change while the check ran is one that it may not have seen.
	changed = changed.Add(2 * time.Second)
	g.Expect(os.Chtimes(filepath.Join(dir, "go.mod"), changed, changed)).To(Succeed())
	git(t, dir, "pack-refs", "--all")
	packed, err = submission.Pack(root, dir, archive)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(packed.Changed).To(Equal("go.mod"))
	g.Expect(packed.Commit).To(Equal(want.Commit), "a packed reference")
}

// A full disk is the machine's fault, not the student's, and leaves nothing behind.
func TestFailuresOfTheMachine(t *testing.T) {
	g := NewWithT(t)
	dir := directory(t, sound(nil))
	_, err := submission.Pack(root, dir, filepath.Join(t.TempDir(), "missing", "s07.tar.gz"))
	var refusal *submission.RefusedError
	g.Expect(err).To(HaveOccurred())
	g.Expect(errors.As(err, &refusal)).To(BeFalse(), "%v", err)
	g.Expect(submission.Judge(t.TempDir(), dir)).To(MatchError(os.ErrNotExist), "a repository without a go.mod")
}

// TestLineEndingsOfASubmission has files as an editor or a git on Windows writes them.
func TestLineEndingsOfASubmission(t *testing.T) {
	g := NewWithT(t)
	files := sound(map[string]string{".lab": "hands-off\n"})
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "\n", "\r\n")
	}
	packed, err := submission.Pack(root, directory(t, files), filepath.Join(t.TempDir(), "s07.tar.gz"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(packed.Stage).To(Equal("04-status"))
	g.Expect(packed.Lab).To(Equal("hands-off"))
	taken := filepath.Join(t.TempDir(), "taken")
	g.Expect(submission.Unpack(root, packed.Archive, taken)).To(Succeed())
	g.Expect(os.ReadFile(filepath.Join(taken, "cmd", "main.go"))).To(BeEquivalentTo(files["cmd/main.go"]))
}
