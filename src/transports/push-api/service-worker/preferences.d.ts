/** The text of `beams-worker.js`: it runs in browsers, and is imported `with { type: 'text' }`. */
declare const text: string;
export default text;
