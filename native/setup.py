"""What pyproject.toml cannot say: the sources, and that one wheel is for all CPython from 3.11."""

from __future__ import annotations

from glob import glob

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "skeletonhunter_native",
            sorted(glob("src/*.c")),
            libraries=["m"],
            define_macros=[("_GNU_SOURCE", None)],
            extra_compile_args=["-std=c11", "-fvisibility=hidden"],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
