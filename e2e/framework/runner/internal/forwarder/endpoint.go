package forwarder

// Endpoint is where a replica serves its webhooks, if the process of that name runs and its readiness probe succeeds.
type Endpoint struct {
	Process string `json:"process"`
	Webhook string `json:"webhook"` // host:port
	Health  string `json:"health"`  // host:port
	// Leaving is whether the process is about to get a SIGTERM. Connections go to it as before, whether or not it is ready.
	Leaving bool `json:"leaving,omitempty"`
	// Withdrawn is whether no more connections go to it. It keeps those that it has until it closes them.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// address returns the endpoint without what is happening to it.
func (e Endpoint) address() Endpoint {
	e.Leaving, e.Withdrawn = false, false
	return e
}
