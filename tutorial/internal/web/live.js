// Replaces the parts of this page that have changed, each time the server has other ones. Without this script, the page still shows
// everything, and is loaded again from time to time.
'use strict';

const connection = document.getElementById('connection');

const show = ({ connected, html }) => {
  connection.textContent = connected ? connection.dataset.live : connection.dataset.lost;
  connection.className = connected ? 'faint' : 'warn';
  if (html === undefined) return;
  const fresh = new DOMParser().parseFromString(html, 'text/html');
  for (const part of fresh.querySelectorAll('[data-live]')) {
    const old = document.getElementById(part.id);
    // What has not changed stays: a screen reader would read it again.
    if (old && old.innerHTML !== part.innerHTML) old.replaceChildren(...part.childNodes);
  }
};

if (window.SharedWorker) {
  const { port } = new SharedWorker('/stream.js', { name: location.host });
  port.onmessage = (event) => show(event.data);
  addEventListener('pagehide', () => port.postMessage('bye'));
  addEventListener('pageshow', (event) => event.persisted && location.reload());
} else {
  const source = new EventSource('/live');
  source.onopen = () => show({ connected: true });
  source.onerror = () => show({ connected: false });
  source.onmessage = (event) => show({ connected: true, html: event.data });
}
