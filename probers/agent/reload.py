"""What SIGHUP does: keys and token are read again, and the ping list soon."""

from __future__ import annotations

from collections.abc import Sequence

from probers.agent.list_source import ListSource
from probers.command_line import options as command_line
from probers.command_line.options import Options, UsageError
from probers.ping_list.document import PingListError
from probers.process.log import log_event
from probers.publishing.signer import Signer
from probers.requests.client import RequestClient


class Reload:
    """Reads the files that the command line names; everything else needs a restart.

    Nothing changes when one of them cannot be used. For the loop's thread: small files are read.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        options: Options,
        signer: Signer,
        lists: ListSource,
        requests: RequestClient | None,
    ) -> None:
        self._arguments, self._options, self._signer = list(arguments), options, signer
        self._lists, self._requests = lists, requests

    def __call__(self) -> None:
        """Read, check all, and use all."""
        try:
            fresh = command_line.parse(self._arguments)
        except (UsageError, PingListError) as why:
            log_event("error", "reload-refused", why=str(why))
            return
        self._options.key.replace(fresh.key)
        self._signer.use(fresh.sender_key)
        if self._requests is not None:
            self._requests.use_token(fresh.token)
        self._lists.reload(fresh.token)
        log_event("info", "reloaded")
