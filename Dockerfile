# goodarm as a service. Build: docker build -t goodarm . ; run it with docker-compose.yml, or by hand as docs/service.md says.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --prefix=/install ".[service,postgresql,report]"

FROM python:3.12-slim
COPY --from=build /install /usr/local
RUN useradd --system --create-home --home-dir /data goodarm
USER goodarm
WORKDIR /data
VOLUME /data
EXPOSE 8000
ENV GOODARM_STORE=sqlite:////data/goodarm.db GOODARM_WORKERS=2 NUMBA_CACHE_DIR=/data/.numba
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
# The server ends within three seconds of SIGTERM; exec hands the signal on.
CMD ["sh", "-c", "exec goodarm serve --store \"$GOODARM_STORE\" --host 0.0.0.0 --port 8000 --workers \"$GOODARM_WORKERS\""]
