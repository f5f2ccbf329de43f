# The program alone, some megabytes: docker build -t tamis . && docker run -i -v "$PWD:/data" tamis score < message.eml
# The server: docker build --target tamisd -t tamisd . && docker run -v "$PWD:/data" -p 127.0.0.1:7783:7783 tamisd
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin tamis
RUN mkdir -p /out/data && cp target/release/tamis /out/ && strip /out/tamis

FROM build AS build-server
RUN cargo build --release --locked -p tamis-server --bin tamisd
RUN cp target/release/tamisd /out/ && strip /out/tamisd

# tamisd.toml in the folder of the model says where to listen: in a container, tcp:0.0.0.0:7783 and the like
FROM gcr.io/distroless/cc-debian12:nonroot AS tamisd
COPY --from=build-server /out/tamisd /usr/bin/tamisd
COPY --from=build-server --chown=nonroot:nonroot /out/data /data
WORKDIR /data
ENTRYPOINT ["/usr/bin/tamisd", "-c", "/data/tamisd.toml"]

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/tamis /usr/bin/tamis
COPY --from=build --chown=nonroot:nonroot /out/data /data
ENV TAMIS_MODEL=/data/model.tamis
WORKDIR /data
ENTRYPOINT ["/usr/bin/tamis"]
