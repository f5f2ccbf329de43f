// How often the package's figures are not the program's to the last bit:
// NPM_PACKAGE=DIR TAMIS_BIN=PROGRAM node crates/wasm/benches/agreement.mjs MODEL SOURCE
//
// A source is what `tamis label` takes, here of files with a document each. Texts that are not UTF-8 are left out: the program
// guesses their charset.

import { isUtf8 } from "node:buffer";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { Filter } = await import(pathToFileURL(join(process.env.NPM_PACKAGE, "tamis/tamis.cjs")));
const [model, source] = process.argv.slice(2);
const filter = Filter.fromBytes(readFileSync(model));

/** The place of a number among all numbers, of which those next to it differ by one. */
function place(x) {
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, x);
    return view.getBigInt64(0);
}

const args = ["label", "-q", "-m", model, "--as", filter.kind, "--all", "--format", "jsonl", source];
const rows = execFileSync(process.env.TAMIS_BIN, args, { encoding: "utf8", maxBuffer: 2 ** 30 }).trim().split("\n");
let documents = 0, figures = 0, differ = 0, most = 0;
for (const row of rows) {
    const told = JSON.parse(row);
    const bytes = readFileSync(told.path);
    if (filter.kind === "text" && !isUtf8(bytes)) continue;
    const score = filter.score(bytes);
    const pairs = Object.keys(told.probabilities).map((label) => [told.probabilities[label], score.probabilities[label]]);
    pairs.push([told.log_odds, score.logOdds], [told.probability, score.probability]);
    for (const [a, b] of pairs) {
        const units = Math.abs(Number(place(a) - place(b)));
        figures += 1;
        differ += units > 0;
        most = Math.max(most, units);
    }
    documents += 1;
}
console.log(`${documents} documents, ${figures} figures: ${differ} differ, by ${most} units in the last place at most`);
