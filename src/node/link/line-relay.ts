import type { KeptLine } from '../../observability/log.ts';
import { unrefTimers } from '../../runtime/system-timers.ts';

/** The limit of lines in one message. */
const LINES_MAX = 200;

/** How long a line may wait for others. Milliseconds. */
const WAIT_MS = 100;

/**
 * Passes log lines of a loop to the background loop, which keeps the last ones. If there are too many at once, only
 * the first are passed on; the log itself has all of them.
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
    if (this.waiting.length === 1) unrefTimers.after(WAIT_MS, () => this.flush());
  }

  private flush(): void {
    const lines = this.waiting;
    this.waiting = [];
    this.send(lines);
  }
}
