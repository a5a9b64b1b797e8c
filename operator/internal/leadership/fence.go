package leadership

import "net/http"

// fence is a RoundTripper that refuses writes while the lease does not allow them. It sees every kind of write, each retry of it,
// and only after client-side rate limiting.
type fence struct {
	lease *lease
	next  http.RoundTripper
}

// RoundTrip sends the request, or returns why it may not be sent.
func (f *fence) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		if err := f.lease.check(); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // required of every RoundTripper; nothing was written, so an error does not matter
			}
			return nil, err
		}
	}
	return f.next.RoundTrip(request)
}
