# syntax=docker/dockerfile:1
# Serves a .mono file from /data to a browser, or to agents. Linted, never built yet: see docs/how-to/releasing.md.
#
#   docker build -t monograph .
#   docker run --rm -v "$PWD:/data" monograph sync notes.mono notes
#   docker run --rm --network host -v "$PWD:/data" monograph serve notes.mono
#   docker run --rm -i -v "$PWD:/data" monograph mcp notes.mono
FROM python:3.13-slim AS build
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN python -m venv /opt/monograph \
    && /opt/monograph/bin/pip install --no-cache-dir ".[serve,mcp,documents]"

FROM python:3.13-slim
COPY --from=build /opt/monograph /opt/monograph
ENV PATH="/opt/monograph/bin:$PATH" PYTHONUNBUFFERED=1
RUN useradd --create-home --uid 1000 monograph && mkdir /data && chown monograph /data
USER 1000
WORKDIR /data
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["monograph"]
CMD ["--help"]
