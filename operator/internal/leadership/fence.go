package leadership

import "net/http"

// fence sends requests that write only while the lease lets it. It is here that a write of any kind comes by, after it waited
// for its turn and at each of its tries.
type fence struct {
	lease *lease
	next  http.RoundTripper
}

// RoundTrip sends the request, or says why not.
func (f *fence) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		if err := f.lease.check(); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // as every RoundTripper has to; there is nothing in it to lose
			}
			return nil, err
		}
	}
	return f.next.RoundTrip(request)
}
