"""Whether senders must sign, according to the settings: for brokers of other machines they must."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from schemas.kafka_client import is_loopback
from skeletonhunter.errors import BadInput, BadSettings

if TYPE_CHECKING:
    from skeletonhunter.settings import Settings
    from streams.admission.sender_keys import KeyRingFile

_log = logging.getLogger(__name__)


def require_keys(config: Settings, bootstrap: str) -> None:
    """Raises BadSettings when brokers of other machines are read without a key ring and
    SKH_UNSIGNED_SENDERS does not accept unsigned messages.
    """
    if (
        config.sender_keys is None
        and config.unsigned_senders != "accept"
        and not is_loopback(bootstrap)
    ):
        raise BadSettings(
            f"SKH_SENDER_KEYS must be set for {bootstrap}, or any client of it could send in every "
            "host's name; `skeletonhunter keys new --ring FILE` makes it, "
            "SKH_UNSIGNED_SENDERS=accept does without"
        )


def key_ring(config: Settings, bootstrap: str) -> KeyRingFile | None:
    """The key ring that verifies senders' signatures; None: no signature is needed.

    Raises BadSettings like ``require_keys``, and BadInput when the ring cannot be used.
    """
    from streams.admission.sender_keys import KeyRingFile, SenderKeysError

    require_keys(config, bootstrap)
    if config.unsigned_senders == "accept":
        _log.warning(
            "SKH_UNSIGNED_SENDERS=accept: UNSIGNED MESSAGES ARE BELIEVED; any client of %s "
            "can send in every host's name",
            bootstrap,
        )
    if config.sender_keys is None:
        return None
    try:
        return KeyRingFile(config.sender_keys)
    except SenderKeysError as why:
        raise BadInput(f"SKH_SENDER_KEYS: {why}") from why
