# Two images: `agent` for training hosts, `server` for all other parts (docs/deploy.md).
#   docker build --target agent -t skeletonhunter/agent .
#   docker build --target server -t skeletonhunter/server .
# scripts/image-root.sh fills both, with what uv.lock pins by hash; scripts/image_sizes.py measures them
# without an engine. Tags of bases can move: the release workflow pins digests (*_BASE).
ARG BUILD_BASE=python:3.11.14-slim-bookworm
ARG SERVER_BASE=python:3.11.14-slim-bookworm
ARG AGENT_BASE=gcr.io/distroless/python3-debian12:nonroot

FROM ${BUILD_BASE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY scripts/requirements-uv.txt scripts/
RUN pip install --no-cache-dir --require-hashes -r scripts/requirements-uv.txt
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY scripts/image-root.sh scripts/
COPY native native
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

FROM build AS agent-root
RUN scripts/image-root.sh agent /app

FROM build AS server-root
RUN scripts/image-root.sh server /app

# Neither shell nor package manager; the interpreter is Debian's, of the version that built the root.
FROM ${AGENT_BASE} AS agent
LABEL org.opencontainers.image.title="skeletonhunter-agent" \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.description="Agent of SkeletonHunter: probes the network from a training host"
COPY --from=agent-root /app /app
COPY LICENSE /app/
ENV PYTHONPATH=/app/lib PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 SKH_LOG_FORMAT=json
USER 65532
ENTRYPOINT ["/usr/bin/python3", "-m", "probers.agent"]
CMD ["--help"]

FROM ${SERVER_BASE} AS server
LABEL org.opencontainers.image.title="skeletonhunter" \
  org.opencontainers.image.version="0.1.0" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.description="Stream worker, sink, controller, API and notifier of SkeletonHunter"
# openssl makes the certificates of docker-compose.yml (`compose-secrets`).
RUN apt-get update && apt-get install -y --no-install-recommends openssl && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --user-group --no-create-home --home-dir /nonexistent skeletonhunter
COPY --from=server-root /app /app
COPY LICENSE /app/
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
USER 10001:10001
ENTRYPOINT ["skeletonhunter"]
CMD ["--help"]
