"""Sends events of Debian's ansible-runner to ansible-operator.

ansible-runner 2.3 writes times in UTC without an offset. ansible-operator refuses an event whose time has no offset, so it never learns
that a role has finished.
"""
import ansible_runner_http

status_handler = ansible_runner_http.status_handler


def event_handler(runner_config, data):
    created = data.get("created", "")
    if created and "+" not in created:
        data = dict(data, created=created + "+00:00")
    return ansible_runner_http.event_handler(runner_config, data)
