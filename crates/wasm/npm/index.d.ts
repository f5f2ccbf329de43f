// tamis.d.ts has Symbol.dispose
/// <reference lib="esnext.disposable" />
export { Filter, type Beside, type Document, type Explanation, type Options, type Row, type Score, type Term } from "./tamis.js";
