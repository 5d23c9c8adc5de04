/** `fengari` brings no types. `fengari.ts` has those that are needed. */
declare module 'fengari/src/*' {
  const exported: unknown;
  export default exported;
}
