// Runs a script of ours in headless Chromium.

import { spawn } from "node:child_process";
import { createReadStream, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, extname, join, normalize } from "node:path";
import { text } from "node:stream/consumers";

const TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
};

/** The program, if it is installed. */
export const chromium = ["chromium", "chromium-browser", "google-chrome"].find((name) =>
    process.env.PATH.split(delimiter).some((folder) => existsSync(join(folder, name))),
);

/** What the default function of a script returns, which may read `folders`: each is served under its name. */
export async function inChromium(folders, script) {
    let finish, fail;
    const result = new Promise((resolve, reject) => ([finish, fail] = [resolve, reject]));
    const start = `import run from "${script}";
        const send = (body) => fetch("/result", { method: "POST", body: JSON.stringify(body) });
        run().then((value) => send({ value }), (error) => send({ error: String(error.stack) }));`;
    const server = createServer(async (request, response) => {
        const [, name, ...rest] = normalize(decodeURIComponent(request.url)).split("/");
        const file = folders[name] && join(folders[name], ...rest);
        if (request.method === "POST") {
            const { value, error } = JSON.parse(await text(request));
            error ? fail(new Error(error)) : finish(value);
            response.end();
        } else if (name === "") {
            response.setHeader("content-type", "text/html");
            response.end(`<!doctype html><script type="module">${start}</script>`);
        } else if (file && existsSync(file)) {
            response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
            createReadStream(file).pipe(response);
        } else {
            response.writeHead(404).end();
        }
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    const profile = await mkdtemp(join(tmpdir(), "tamis-chromium-"));
    // root's Chromium has no sandbox
    const flags = process.getuid() === 0 ? ["--no-sandbox"] : [];
    const browser = spawn(
        chromium,
        ["--headless", "--disable-gpu", "--no-first-run", ...flags, `--user-data-dir=${profile}`, `http://127.0.0.1:${server.address().port}/`],
        { stdio: "ignore" },
    );
    const ended = new Promise((resolve) => browser.once("exit", resolve));
    ended.then(() => fail(new Error("Chromium ended without a result")));
    const timeout = setTimeout(() => fail(new Error("Chromium took more than two minutes")), 120_000);
    try {
        return await result;
    } finally {
        clearTimeout(timeout);
        browser.kill();
        await ended;
        server.close();
        await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    }
}
