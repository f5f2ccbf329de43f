# The program alone, some megabytes: docker build -t tamis . && docker run -i -v "$PWD:/data" tamis score < message.eml
# The mailbox agent: docker build --target tamis-mailbox -t tamis-mailbox . && docker run -it -v "$PWD:/data" tamis-mailbox setup
# ADDRESS --password "cat /data/password", then the same with train, and with run, which idles until mail arrives
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

FROM build AS build-mailbox
RUN cargo build --release --locked -p tamis-mailbox --bin tamis-mailbox
RUN cp target/release/tamis-mailbox /out/ && strip /out/tamis-mailbox

# with a shell, since a command prints the password; settings, model and journal are in the folder
FROM debian:bookworm-slim AS tamis-mailbox
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build-mailbox /out/tamis-mailbox /usr/bin/tamis-mailbox
COPY --from=build-mailbox --chown=65532:65532 /out/data /data
USER 65532:65532
ENV HOME=/data
WORKDIR /data
ENTRYPOINT ["/usr/bin/tamis-mailbox"]
CMD ["run"]

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/tamis /usr/bin/tamis
COPY --from=build --chown=nonroot:nonroot /out/data /data
ENV TAMIS_MODEL=/data/model.tamis
WORKDIR /data
ENTRYPOINT ["/usr/bin/tamis"]
