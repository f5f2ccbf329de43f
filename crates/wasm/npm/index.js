// For browsers and bundlers: the WebAssembly is fetched from beside this file.
import init, { Filter } from "./tamis.js";

await init();
export { Filter };
