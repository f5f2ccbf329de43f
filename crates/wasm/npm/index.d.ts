export { Filter, type Explanation, type Options, type Score, type Term } from "./tamis.js";
