package nodeimage

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/example/operator-testbed/kind/node/internal/archive"
	"github.com/example/operator-testbed/kind/node/internal/rootfs"
)

// nodePackages are those of kind's own Dockerfile, without those for kinds of
// storage that nobody tests here, and with Debian's runc.
var nodePackages = []string{
	"systemd",
	"conntrack", "iptables", "nftables", "iproute2", "ethtool", "util-linux", "mount", "kmod",
	"libseccomp2", "pigz", "e2fsprogs",
	"bash", "ca-certificates", "curl", "jq", "procps", "runc",
}

// nodeSetup are the steps of kind's own Dockerfile that need no container: they
// remove the units that a container can't run, enable those that a node needs, and
// make systemd the init process.
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

// toolsSystem is for images that run more than one program: kube-proxy runs
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

// nodePrograms are the programs of the node itself, besides those that kind copies
// into it, and the directories they are in.
var nodePrograms = map[string][]string{
	"/usr/local/bin": {"containerd", "containerd-shim-runc-v2", "ctr", "crictl"},
	"/opt/cni/bin":   {"host-local", "loopback", "ptp", "portmap"},
}

// content is what an image of a node holds.
type content struct {
	// program is the one it runs, and path where it is in the image.
	program, path string
	// tools is set if it needs toolsSystem.
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

// programs are directories with programs on this machine.
type programs []string

// find returns the file of a program in the first directory that has it.
func (p programs) find(name string) (string, error) {
	for _, dir := range p {
		if found, err := filepath.EvalSymlinks(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("no program called %s was built", name)
}

// image returns the image of a name. tools is the file of toolsSystem.
func (p programs) image(name, tools string) (archive.Image, error) {
	repository, _, _ := strings.Cut(path.Base(name), ":")
	c, ok := contents[repository]
	if !ok {
		return archive.Image{}, fmt.Errorf("kubeadm or kind needs an image %s that is unknown here: add it to contents in kind/node/internal/nodeimage", name)
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
func required(kubeadm, kind []string) []string {
	isSandbox := func(name string) bool { return strings.Contains(name, "/pause:") }
	return append(slices.DeleteFunc(slices.Clone(kubeadm), isSandbox), kind...)
}
