import { write } from 'node:fs';

/** Lines that may wait to be written; beyond them the newest are dropped, and counted. */
const WAITING_LINES_MAX = 10_000;

/**
 * Writes lines to a file descriptor without ever making the caller wait: a full pipe or a slow disk must
 * not stop the loop that delivers events.
 */
export class LineWriter {
  private readonly descriptor: number;
  private waiting: string[] = [];
  private writing: string[] | undefined;
  /** How many lines were dropped since the start. */
  droppedLines = 0;
  private dropped = 0;
  private idle: PromiseWithResolvers<void> | undefined;

  constructor(descriptor: number) {
    this.descriptor = descriptor;
  }

  write(line: string): void {
    if (this.waiting.length >= WAITING_LINES_MAX) {
      this.dropped++;
      this.droppedLines++;
      return;
    }
    this.waiting.push(line);
    if (this.writing === undefined) this.writeNext();
  }

  /** Settles when everything that was written so far has left this process, or cannot. */
  async flushed(): Promise<void> {
    if (this.writing === undefined) return;
    this.idle ??= Promise.withResolvers();
    await this.idle.promise;
  }

  private writeNext(): void {
    if (this.waiting.length === 0) {
      this.writing = undefined;
      this.idle?.resolve();
      this.idle = undefined;
      return;
    }
    this.writing = this.waiting;
    this.waiting = [];
    if (this.dropped > 0) {
      this.writing.push(
        `${this.dropped} lines of the log were dropped: they are not read fast enough`,
      );
      this.dropped = 0;
    }
    this.writeBytes(Buffer.from(`${this.writing.join('\n')}\n`), 0);
  }

  private writeBytes(bytes: Buffer, from: number): void {
    write(this.descriptor, bytes, from, bytes.length - from, null, (error, written) => {
      if (error?.code === 'EAGAIN') {
        // A pipe that is full and does not block: there is nothing to wait on but time.
        setTimeout(() => this.writeBytes(bytes, from), 50);
      } else if (error !== null || from + written >= bytes.length) {
        // Nobody is left to tell of a log that cannot be written; the server goes on without it.
        this.writeNext();
      } else {
        this.writeBytes(bytes, from + written);
      }
    });
  }
}
