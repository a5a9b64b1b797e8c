// One stream of events for all tabs of this browser: browsers open at most six connections to a server, so eight tabs with a stream
// of their own would wait for each other. This is a SharedWorker, and tabs are its ports.
'use strict';

const ports = new Set();
let source = null;
let latest = null;

const post = (message) => ports.forEach((port) => port.postMessage(message));

// A stream that was refused, as after a restart of the server, does not come back. The next tab tries again.
const open = () => {
  if (source && source.readyState !== EventSource.CLOSED) return;
  source = new EventSource('/live');
  source.onopen = () => post({ connected: true });
  source.onerror = () => post({ connected: false });
  source.onmessage = (event) => {
    latest = event.data;
    post({ connected: true, html: latest });
  };
};

self.onconnect = (event) => {
  const port = event.ports[0];
  port.onmessage = () => ports.delete(port); // the tab is closed
  ports.add(port);
  open();
  if (latest !== null) port.postMessage({ connected: source.readyState === EventSource.OPEN, html: latest });
};
