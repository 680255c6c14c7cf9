# One image for every part: `skeletonhunter stream`, `sink`, `api`, `migrate`, `topics`.
FROM python:3.12.12-slim-bookworm AS build
WORKDIR /app
COPY scripts/requirements-uv.txt scripts/
RUN pip install --no-cache-dir --require-hashes -r scripts/requirements-uv.txt
ENV UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never UV_COMPILE_BYTECODE=1
COPY pyproject.toml uv.lock README.md LICENSE ./
RUN uv sync --frozen --no-dev --all-extras --no-install-project
COPY schemas schemas
COPY store store
COPY controller controller
COPY probers probers
COPY streams streams
COPY localizer localizer
COPY api api
COPY notifier notifier
COPY testbed testbed
COPY evaluation evaluation
COPY skeletonhunter skeletonhunter
RUN uv sync --frozen --no-dev --all-extras --no-editable

FROM python:3.12.12-slim-bookworm
RUN useradd --system --uid 10001 --home-dir /app skeletonhunter
COPY --from=build /app/.venv /app/.venv
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /app
USER 10001
ENTRYPOINT ["skeletonhunter"]
CMD ["--help"]
