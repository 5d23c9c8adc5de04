import type { KeptLine } from '../../observability/log.ts';

/** Lines that a loop passes on at a time. */
const LINES_MAX = 200;

/** How long a line waits for others. Milliseconds. */
const WAIT_MS = 100;

/**
 * Passes the lines of a loop's log on to the background loop, which keeps the last ones. With too many at once, the first ones
 * are passed on; the log itself has all.
 */
export class LineRelay {
  private readonly send: (lines: readonly KeptLine[]) => void;
  private waiting: KeptLine[] = [];

  constructor(send: (lines: readonly KeptLine[]) => void) {
    this.send = send;
  }

  add(line: KeptLine): void {
    if (this.waiting.length >= LINES_MAX) return;
    this.waiting.push(line);
    if (this.waiting.length === 1) setTimeout(() => this.flush(), WAIT_MS).unref();
  }

  private flush(): void {
    const lines = this.waiting;
    this.waiting = [];
    this.send(lines);
  }
}
