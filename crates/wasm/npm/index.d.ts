// tamis.d.ts has Symbol.dispose
/// <reference lib="esnext.disposable" />
export { Filter, type Beside, type Explanation, type Options, type Score, type Term } from "./tamis.js";
