"""Whom to ask: address, key and the fields of every request, from options and environment."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rc_hpc.core.errors import UsageError
from rc_hpc.vlm.endpoints import ENDPOINTS, Endpoint, is_loopback
from rc_hpc.vlm.options import RequestOptions, WhoOptions

log = logging.getLogger("rc_hpc")


@dataclass(frozen=True)
class Connection:
    """Whom to ask.

    Attributes
    ----------
    endpoint
        Its dialect.
    url
        Of the API.
    key
        Secret; None where there is none.
    """

    endpoint: Endpoint
    url: str
    key: str | None = field(repr=False)


def connection_of(who: WhoOptions) -> Connection:
    """Whom to ask; raises as `base_url` and `key_of`."""
    endpoint = ENDPOINTS[who.provider]
    url = base_url(who, endpoint)
    return Connection(endpoint, url, key_of(who, endpoint, url))


def parameters_of(who: WhoOptions, request: RequestOptions, endpoint: Endpoint) -> dict:
    """Fields of every request but the message.

    What is not asked for is not there, but for what the dialect demands.

    Raises
    ------
    UsageError
        No model, or a field twice.
    """
    if not who.model:
        raise UsageError(
            "name the model with --model, as the endpoint calls it "
            "(a local server lists them under /v1/models)"
        )
    chosen = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "max_completion_tokens": request.max_completion_tokens,
    }
    parameters = {"model": who.model, **endpoint.defaults}
    parameters |= {name: value for name, value in chosen.items() if value is not None}
    if request.reasoning is not None:
        parameters |= endpoint.reasoning(request.reasoning)
    extra = dict(request.extra or {})
    if extra.get("stream") is False:  # sent anyway
        del extra["stream"]
    if twice := (parameters.keys() | {"messages", "stream"}) & extra.keys():
        raise UsageError(
            f"--extra sets {', '.join(sorted(twice))}, which has an option of its own "
            "or is not to be changed"
        )
    return parameters | extra


def base_url(who: WhoOptions, endpoint: Endpoint) -> str:
    """The address to ask, from the option or the environment.

    Raises
    ------
    UsageError
        None, not a web address, or with a secret in it.
    """
    url = who.base_url or os.environ.get(endpoint.url_variable, "")
    if not url:
        raise UsageError(
            "whom to ask? give --base-url (http://127.0.0.1:8000/v1 for a local server) "
            f"or set {endpoint.url_variable}"
        )
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError where it is none
        usable = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        usable = False
    if not usable:
        told = url.rpartition("@")[2]  # what stands before may be a password
        raise UsageError(f"--base-url {told}: give http:// or https://, a host, and usually /v1")
    if parts.username or parts.password or parts.query:
        raise UsageError(
            "--base-url must not carry a password or a key: it is written into files; "
            "put the key into the variable that --api-key-env names"
        )
    return url


def key_of(who: WhoOptions, endpoint: Endpoint, url: str) -> str | None:
    """The key from the environment; None where there is none, as for local servers.

    Over plain http to another machine only a key whose variable was named goes out.

    Raises
    ------
    UsageError
        A variable was named and is not set.
    """
    name = who.api_key_env or endpoint.key_variable
    key = os.environ.get(name, "").strip()
    if not key and who.api_key_env:
        raise UsageError(f"--api-key-env {name}: that variable is not set")
    if key and not (key.isascii() and key.isprintable()):
        raise UsageError(f"the key in ${name} holds characters that no key has: set it again")
    parts = urlsplit(url)
    open_line = parts.scheme == "http" and not is_loopback(parts.hostname)
    if key and open_line and not who.api_key_env:
        log.warning(
            "%s is not encrypted: the key in $%s is not sent; --api-key-env %s sends it all the "
            "same",
            url,
            name,
            name,
        )
        return None
    return key or None
