/** Milliseconds after which something that does not happen is a failure. */
const WAIT_MAX_MS = 120_000;

type Printing = Bun.Subprocess<'ignore', 'pipe', 'pipe'>;

/** What a process prints, and the waits for it. */
export class ProcessOutput {
  stdout = '';
  stderr = '';
  private readonly process: Printing;
  private readonly changes = new EventTarget();
  /** Whether the process has ended, and all that it printed is here. */
  private isComplete = false;

  constructor(printing: Printing) {
    this.process = printing;
    const read = [this.collect('stdout'), this.collect('stderr'), printing.exited];
    void Promise.all(read).then(() => {
      this.isComplete = true;
      this.changed();
    });
  }

  /** Settles with what `find` finds in the output, as soon as it does. Rejects if the process ends before. */
  until<Found>(find: () => Found | undefined, what: string): Promise<Found> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const found = find();
        if (found === undefined && !this.isComplete) return;
        clearTimeout(timer);
        this.changes.removeEventListener('change', check);
        if (found === undefined) reject(this.failure(`ended (${this.end}) before it ${what}`));
        else resolve(found);
      };
      const timer = setTimeout(() => {
        this.changes.removeEventListener('change', check);
        reject(this.failure(`never ${what}`));
      }, WAIT_MAX_MS);
      this.changes.addEventListener('change', check);
      check();
    });
  }

  /** Settles with the first line on standard error, after `start` characters of it, that matches. */
  line(start: number, pattern: RegExp): Promise<string> {
    let unread = start;
    return this.until(() => {
      const lines = this.stderr.slice(unread).split('\n');
      // The last line may be incomplete, so it is read again.
      unread = Math.max(start, this.stderr.lastIndexOf('\n') + 1);
      return lines.find((line) => pattern.test(line));
    }, `logged ${pattern}`);
  }

  private get end(): string {
    return String(this.process.signalCode ?? `exit code ${this.process.exitCode}`);
  }

  private failure(what: string): Error {
    return new Error(`The server ${what}: ${this.stdout}${this.stderr}`);
  }

  private async collect(name: 'stdout' | 'stderr'): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.process[name]) {
      this[name] += decoder.decode(bytes, { stream: true });
      this.changed();
    }
  }

  private changed(): void {
    this.changes.dispatchEvent(new Event('change'));
  }
}
