# goodarm as a service. Build: docker build -t goodarm . ; run it with docker-compose.yml, or by hand as docs/service.md says.
# The base image is pinned by its digest, and every package by its hash (container/requirements.lock).
ARG BASE=python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

FROM ${BASE} AS build
WORKDIR /src
COPY container/requirements.lock ./
RUN python -m venv /opt/goodarm && \
    /opt/goodarm/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/goodarm/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --no-build-isolation --no-index . && \
    /opt/goodarm/bin/pip uninstall --yes hatchling

FROM ${BASE}
COPY --from=build /opt/goodarm /opt/goodarm
RUN useradd --system --uid 10001 --create-home --home-dir /data goodarm && mkdir /cache && chown goodarm /cache
USER 10001
WORKDIR /data
VOLUME ["/data", "/cache"]
EXPOSE 8000
ENV PATH=/opt/goodarm/bin:$PATH PYTHONDONTWRITEBYTECODE=1 NUMBA_CACHE_DIR=/cache \
    GOODARM_STORE=sqlite:////data/goodarm.db GOODARM_WORKERS=2 GOODARM_OPTIONS=""
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
# The store comes from GOODARM_STORE, so that no process list shows its password. exec hands SIGTERM on.
CMD ["sh", "-c", "exec goodarm serve --host 0.0.0.0 --port 8000 --workers \"$GOODARM_WORKERS\" $GOODARM_OPTIONS"]
