"""A column of texts as codes and the texts that they stand for. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from schemas.compiled import native

I32 = npt.NDArray[np.int32]


def text_codes(values: pa.StringArray) -> tuple[I32, pa.StringArray]:
    """(rows,) codes from 0, in the order in which the texts first come, and (codes,) their texts.

    A null is the empty text. Most columns of many records repeat the text of the row before, which
    the compiled helper compares before it looks a text up.
    """
    helper = native.used()
    if helper is None or not len(values):
        coded = pc.fill_null(values, "").dictionary_encode()
        return coded.indices.to_numpy(zero_copy_only=False).astype(np.int32), coded.dictionary
    codes, firsts = np.empty((2, len(values)), np.int32)
    valid, offsets, data = values.buffers()
    count = helper.code_texts((valid, offsets, data or b"", values.offset), codes, firsts)
    return codes, pc.fill_null(values.take(pa.array(firsts[:count])), "")
