"""Members of a consumer group that have a name, which aiokafka knows only by half.

With a name (``group.instance.id``, KIP-345) a member that was killed and starts again has its
partitions at once. aiokafka lacks two parts of it, and ``use`` adds them:

- a member that is *stopped* leaves the group, so that others take over at once: it may be stopped
  for good, or for as long as a new release takes to start;
- a member whose name another one uses ends. aiokafka forgets its member id when the broker does
  not know it, joins by its name alone, and so takes the name back: the two take turns, and both
  judge. Here it joins with the id that it had, and the broker tells a session that is over
  (UNKNOWN_MEMBER_ID) from a name that is another's (FENCED_INSTANCE_ID).
"""

from __future__ import annotations

from typing import Any, Final

from aiokafka.consumer import consumer, group_coordinator
from aiokafka.errors import KafkaError
from aiokafka.protocol.group import JoinGroupRequest

from streams.errors import NameTaken

_FENCED_INSTANCE_ID: Final = 82  # of which aiokafka has no class


class _NameTaken(KafkaError):  # type: ignore[misc]
    """What aiokafka hands to its user as it is; ``args``: the group and the name."""


class _Coordinator(group_coordinator.GroupCoordinator):  # type: ignore[misc]
    _fenced = False
    member_id: str

    def reset_generation(self) -> None:
        known = self.member_id
        was_member = self.generation > 0
        super().reset_generation()
        if self._group_instance_id is not None and was_member:
            self.member_id = known

    async def _maybe_leave_group(self) -> None:
        self._group_instance_id = None  # with a name nothing would be sent
        await super()._maybe_leave_group()

    async def _send_req(self, request: Any) -> Any:
        response = await super()._send_req(request)
        if isinstance(request, JoinGroupRequest):
            self._fenced = response.error_code == _FENCED_INSTANCE_ID
        return response

    async def _do_rejoin_group(self, subscription: Any) -> Any:
        try:
            return await super()._do_rejoin_group(subscription)
        except KafkaError as error:
            if self._fenced:
                raise _NameTaken(self.group_id, self._group_instance_id) from error
            raise


def use() -> None:
    """Let every consumer of this process do so; may be called again."""
    consumer.GroupCoordinator = _Coordinator


def cause(error: BaseException | None) -> BaseException | None:
    """The error that ended a consumer, as one of the stages' own if it is one of this module's."""
    return NameTaken(*error.args) if isinstance(error, _NameTaken) else error
