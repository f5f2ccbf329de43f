// How large the WebAssembly is, and how long a model and a text of 200 words take in Node and in Chromium:
// NPM_PACKAGE=DIR node crates/wasm/benches/size_and_time.mjs
//
// NPM_PACKAGE is the folder that contrib/package/npm has made.

import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium, inChromium } from "../tests/chromium.mjs";
import { measure } from "./measure.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const made = process.env.NPM_PACKAGE;
const { Filter } = await import(pathToFileURL(join(made, "tamis/tamis.cjs")));

const wasm = readFileSync(join(made, "tamis/tamis_bg.wasm"));
console.log(`wasm: ${wasm.length} bytes, ${gzipSync(wasm, { level: 9 }).length} gzipped`);

// all texts of the example that the model has not seen, one after the other, cut at every 200 words
const test = join(here, "../../../corpora/topics/test");
const files = readdirSync(test, { recursive: true }).filter((name) => name.endsWith(".txt")).sort();
const words = files.flatMap((name) => readFileSync(join(test, name), "utf8").split(/\s+/));
const texts = Array.from({ length: Math.floor(words.length / 200) }, (_, at) => words.slice(at * 200, at * 200 + 200).join(" "));
const model = readFileSync(join(made, "page/topics.tamis"));

const print = (name, { open, first, text }) =>
    console.log(
        `${name}: a model of ${model.length} bytes opens in ${open.toFixed(2)} ms; ` +
            `a text of 200 words takes ${text.toFixed(3)} ms, the first ${first.toFixed(2)} ms`,
    );
print(`Node ${process.version}`, measure(Filter, model, texts));

if (!chromium) {
    console.log("skipped: there is no chromium");
} else {
    const data = mkdtempSync(join(tmpdir(), "tamis-bench-"));
    writeFileSync(join(data, "texts.json"), JSON.stringify(texts));
    const folders = { package: join(made, "tamis"), page: join(made, "page"), data, benches: here };
    print("Chromium", await inChromium(folders, "/benches/measure.mjs"));
    rmSync(data, { recursive: true });
}
