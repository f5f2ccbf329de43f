// For Node, which does not fetch files.
import { readFile } from "node:fs/promises";
import { Filter, initSync } from "./tamis.js";

initSync({ module: await readFile(new URL("tamis_bg.wasm", import.meta.url)) });
export { Filter };
