/** A test that failed, or a file that could not be run, which counts as one. */
const FAILED = /^(?:\(fail\)|# Unhandled error)/;

/**
 * Reads what `bun test` prints, line by line: which tests failed, by file, and how many passed and failed. Several runs add up.
 */
export class Results {
  #passed = 0;
  #failed = 0;
  #file = '';
  readonly #failures: { file: string; readonly tests: string[] }[] = [];

  /** Takes a line without its end. Whatever tests print stands between those that count. */
  add(line: string): void {
    const plain = Bun.stripANSI(line);
    const [, count, what] = /^\s*(\d+) (pass|fail)\s*$/.exec(plain) ?? [];
    if (what === 'pass') this.#passed += Number(count);
    if (what === 'fail') this.#failed += Number(count);
    if (/^\S*\.test\.tsx?:$/.test(plain)) this.#file = plain;
    if (!FAILED.test(plain)) return;
    const last = this.#failures.at(-1);
    if (last?.file === this.#file) last.tests.push(plain);
    else this.#failures.push({ file: this.#file, tests: [plain] });
  }

  /** The files that failed, each with its tests, and the two sums. CI reads the sums. */
  summary(): string {
    const failures = this.#failures.map(({ file, tests }) => `\n${[file, ...tests].join('\n')}\n`);
    return `${failures.join('')}\n ${this.#passed} pass\n ${this.#failed} fail\n`;
  }
}
