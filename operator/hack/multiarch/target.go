package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// timeout is how long to wait for a registry to accept a connection, or to start its response.
const timeout = 10 * time.Second

// target is the name that an image is pushed to, with Docker's credentials for it.
type target struct{ name.Reference }

func targetOf(image string) (target, error) {
	tag, err := name.NewTag(image)
	if err != nil {
		return target{}, fmt.Errorf("IMG=%s is not a name that an image can be pushed to (%w): use one such as registry.example.com/team/operator:v1", image, err)
	}
	return target{tag}, nil
}

// check returns why nothing can be pushed, before anything is built.
func (t target) check() error {
	return t.explain(remote.CheckPushPermission(t.Reference, authn.DefaultKeychain, newTransport()))
}

// push pushes an index and returns its name with its digest.
func (t target) push(ctx context.Context, index v1.ImageIndex) (string, error) {
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	err = remote.WriteIndex(t.Reference, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(newTransport()))
	if err != nil {
		return "", t.explain(err)
	}
	return t.Context().Name() + "@" + digest.String(), nil
}

// explain returns an error that says why the registry refused, and what to do.
func (t target) explain(err error) error {
	if err == nil {
		return nil
	}
	registry := t.Context().RegistryStr()
	if refused := new(transport.Error); errors.As(err, &refused) && (refused.StatusCode == http.StatusUnauthorized || refused.StatusCode == http.StatusForbidden) {
		return fmt.Errorf("the registry %s does not let you push %s: log in with `docker login %s`, or name another image with IMG", registry, t.Context().RepositoryStr(), registry)
	}
	if unreachable := new(net.OpError); errors.As(err, &unreachable) {
		return fmt.Errorf("no registry answers at %s (%w): start it, or name an image of another with IMG=registry/name:tag", registry, unreachable)
	}
	return fmt.Errorf("push %s: %w", t.Reference, err)
}

// newTransport returns a transport that gives up on a registry that does not respond.
func newTransport() http.RoundTripper {
	result := remote.DefaultTransport.(*http.Transport).Clone()
	result.DialContext = (&net.Dialer{Timeout: timeout}).DialContext
	result.ResponseHeaderTimeout = timeout
	return result
}
