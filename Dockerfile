# The program alone, some megabytes: docker build -t tamis . && docker run -i -v "$PWD:/data" tamis score < message.eml
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin tamis
RUN mkdir -p /out/data && cp target/release/tamis /out/ && strip /out/tamis

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/tamis /usr/bin/tamis
COPY --from=build --chown=nonroot:nonroot /out/data /data
ENV TAMIS_MODEL=/data/model.tamis
WORKDIR /data
ENTRYPOINT ["/usr/bin/tamis"]
