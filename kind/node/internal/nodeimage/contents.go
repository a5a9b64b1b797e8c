package nodeimage

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/example/operator-testbed/kind/node/internal/archive"
	"github.com/example/operator-testbed/kind/node/internal/rootfs"
)

// nodePackages are those of kind's own Dockerfile, without what only storage that
// nobody tests here needs, and with Debian's runc.
var nodePackages = []string{
	"systemd",
	"conntrack", "iptables", "nftables", "iproute2", "ethtool", "util-linux", "mount", "kmod",
	"libseccomp2", "pigz", "e2fsprogs",
	"bash", "ca-certificates", "curl", "jq", "procps", "runc",
}

// nodeSetup are the steps of kind's own Dockerfile that need no container: no
// unit that a container can't run, the units that a node needs, systemd as init.
var nodeSetup = []string{
	`find "$1/lib/systemd/system/sysinit.target.wants/" -name systemd-tmpfiles-setup.service -delete`,
	`rm -f "$1"/lib/systemd/system/multi-user.target.wants/*`,
	`rm -f "$1"/etc/systemd/system/*.wants/*`,
	`rm -f "$1"/lib/systemd/system/local-fs.target.wants/*`,
	`rm -f "$1"/lib/systemd/system/sockets.target.wants/*udev*`,
	`rm -f "$1"/lib/systemd/system/sockets.target.wants/*initctl*`,
	`rm -f "$1"/lib/systemd/system/basic.target.wants/*`,
	`echo ReadKMsg=no >> "$1/etc/systemd/journald.conf"`,
	`ln -sf /lib/systemd/systemd "$1/sbin/init"`,
	`chroot "$1" systemctl enable kubelet.service containerd.service undo-mount-hacks.service`,
	`chroot "$1" systemctl mask systemd-binfmt.service`,
	`mkdir -p "$1/etc/kubernetes/manifests"`,
	`rm -f "$1/etc/machine-id"`,
	`touch "$1/etc/machine-id"`,
}

// toolsSystem is what images need that run more than one program: kube-proxy runs
// iptables, local-path-provisioner's helper a shell. Packages that are only
// unpacked lack the links that installing iptables would make.
var toolsSystem = rootfs.Spec{
	Name:     "tools",
	Variant:  "extract",
	Packages: []string{"iptables", "nftables", "dash", "coreutils", "libc-bin"},
	Setup: []string{
		`for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do ln -sf xtables-nft-multi "$1/usr/sbin/$name"; done`,
	},
}

// programsOf are the programs that are built of a module whose tools are not all
// wanted.
var programsOf = map[string][]string{
	"kubernetes": {"etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubeadm", "kubectl", "kubelet"},
}

// nodePrograms are the programs of a node's own, beside those that kind copies
// into it, and the folder they are in.
var nodePrograms = map[string][]string{
	"/usr/local/bin": {"containerd", "containerd-shim-runc-v2", "ctr", "crictl"},
	"/opt/cni/bin":   {"host-local", "loopback", "ptp", "portmap"},
}

// content is what an image of a node holds.
type content struct {
	// program is the one it runs, under the path in the image.
	program, path string
	// tools says that it needs toolsSystem.
	tools bool
}

const bin = "/usr/local/bin/"

// contents are the images that kubeadm and kind ask for, by the last part of their
// names.
var contents = map[string]content{
	"kube-apiserver":          {program: "kube-apiserver", path: bin + "kube-apiserver"},
	"kube-controller-manager": {program: "kube-controller-manager", path: bin + "kube-controller-manager"},
	"kube-scheduler":          {program: "kube-scheduler", path: bin + "kube-scheduler"},
	"kube-proxy":              {program: "kube-proxy", path: bin + "kube-proxy", tools: true},
	"etcd":                    {program: "etcd", path: bin + "etcd"},
	"coredns":                 {program: "coredns", path: "/coredns"},
	"pause":                   {program: "pause", path: "/pause"},
	"kindnetd":                {program: "kindnetd", path: bin + "kindnetd"},
	"local-path-provisioner":  {program: "local-path-provisioner", path: bin + "local-path-provisioner"},
	"local-path-helper":       {tools: true},
}

// pathVariable is the PATH of every image.
const pathVariable = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// programs say where programs are on this machine.
type programs []string

// find is the file of a program in the first folder that has it.
func (p programs) find(name string) (string, error) {
	for _, dir := range p {
		if found, err := filepath.EvalSymlinks(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("no program called %s was built", name)
}

// image is the one that is asked for by a name. tools is the file of toolsSystem.
func (p programs) image(name, tools string) (archive.Image, error) {
	repository, _, _ := strings.Cut(path.Base(name), ":")
	c, ok := contents[repository]
	if !ok {
		return archive.Image{}, fmt.Errorf("kubeadm or kind asks for an image %s, and nothing here says what is in it: add it to the contents in kind/node/internal/nodeimage", name)
	}
	image := archive.Image{Name: name, Env: []string{pathVariable}}
	if c.tools {
		image.Base = tools
	}
	if c.program != "" {
		file, err := p.find(c.program)
		if err != nil {
			return archive.Image{}, err
		}
		image.Files = []archive.File{{Path: c.path, Source: file, Mode: 0o755}}
		image.Entrypoint = []string{c.path}
	}
	return image, nil
}

// required are the names of all images that a node needs: kubeadm's, but with
// kind's sandbox instead of kubeadm's, and kind's.
func required(kubeadm []string, sandbox string, kind []string) []string {
	var names []string
	for _, name := range kubeadm {
		if !strings.Contains(name, "pause") {
			names = append(names, name)
		}
	}
	names = append(names, sandbox)
	return append(names, kind...)
}
