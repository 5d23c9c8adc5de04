import { FairBudget } from '../runtime/fairness/fair-budget.ts';
import { withTimeout } from '../runtime/system-timers.ts';

/** Characters of waiting lines. */
const WAITING_CHARACTERS_MAX = 4_194_304;

/** Further room for the server's own warnings and errors, which use it first. Characters. */
const URGENT_CHARACTERS_MAX = 262_144;

/** Owners whose dropped lines are counted separately. */
const DROPPED_OWNERS_MAX = 20;

/** The owner of lines that are about no tenant. */
export const SERVER = 'server';

/** One line of the log. */
export interface LogLine {
  readonly text: string;
  /** The app or instance of the line, or `SERVER`. */
  readonly owner: string;
  /** A warning or an error. */
  readonly isSevere: boolean;
}

export interface LineWriterOptions {
  /** Starts to write the text. It is not called again before `written` was called. */
  readonly send: (text: string) => void;
  /** The line that reports dropped lines. */
  readonly droppedLine: (owner: string, lines: number) => string;
}

interface Waiting {
  /** `undefined`: dropped to make room. */
  text: string | undefined;
}

/**
 * Queues lines until they are written, which may take long if nothing reads them. The caller never waits. If the
 * queue is full, the owner with the most characters loses its newest lines. The remaining lines keep their order.
 */
export class LineWriter {
  /** Dropped lines since the start. */
  droppedLines = 0;
  private readonly options: LineWriterOptions;
  private waiting: Waiting[] = [];
  private byOwner = new Map<string, Waiting[]>();
  private budget = new FairBudget(WAITING_CHARACTERS_MAX);
  private urgentCharacters = 0;
  /** Lines being written. */
  private writing = 0;
  private readonly dropped = new Map<string, number>();
  private idle: PromiseWithResolvers<void> | undefined;

  constructor(options: LineWriterOptions) {
    this.options = options;
  }

  write({ text, owner, isSevere }: LogLine): void {
    const line: Waiting = { text };
    const characters = charactersOf(text);
    const isUrgent = owner === SERVER && isSevere;
    if (isUrgent && this.urgentCharacters + characters <= URGENT_CHARACTERS_MAX) {
      this.urgentCharacters += characters;
    } else if (this.makeRoom(owner, characters)) {
      this.budget.add(owner, characters);
      this.linesOf(owner).push(line);
    } else {
      this.drop(owner);
      return;
    }
    this.waiting.push(line);
    if (this.writing === 0) this.sendNext();
  }

  /** Reports that the text given to `send` was written, or failed to be. */
  written(succeeded: boolean): void {
    const lines = this.writing;
    this.writing = 0;
    if (!succeeded) this.drop(SERVER, lines);
    // Reporting a failed write at once would fail as well, forever. The report waits for the next line.
    if (this.waiting.length > 0 || (succeeded && this.dropped.size > 0)) this.sendNext();
    else this.idle?.resolve();
  }

  /** Settles when all lines so far are written, or after `msMax` milliseconds. */
  async flushed(msMax: number): Promise<void> {
    if (this.writing === 0) return;
    this.idle ??= Promise.withResolvers();
    await withTimeout(msMax, this.idle.promise);
  }

  private makeRoom(owner: string, characters: number): boolean {
    for (;;) {
      const loser = this.budget.ownerToEvict(owner, characters);
      if (loser === undefined) return true;
      if (loser === owner) return false;
      const newest = this.linesOf(loser).pop();
      if (newest?.text === undefined) return false;
      this.budget.release(loser, charactersOf(newest.text));
      newest.text = undefined;
      this.drop(loser);
    }
  }

  private linesOf(owner: string): Waiting[] {
    let lines = this.byOwner.get(owner);
    if (lines === undefined) {
      lines = [];
      this.byOwner.set(owner, lines);
    }
    return lines;
  }

  private drop(owner: string, lines = 1): void {
    this.droppedLines += lines;
    const key =
      this.dropped.has(owner) || this.dropped.size < DROPPED_OWNERS_MAX ? owner : 'others';
    this.dropped.set(key, (this.dropped.get(key) ?? 0) + lines);
  }

  private sendNext(): void {
    const lines = this.waiting.flatMap(({ text }) => (text === undefined ? [] : [text]));
    for (const [owner, count] of this.dropped) {
      lines.push(this.options.droppedLine(owner, count));
    }
    this.dropped.clear();
    this.waiting = [];
    this.byOwner = new Map();
    this.budget = new FairBudget(WAITING_CHARACTERS_MAX);
    this.urgentCharacters = 0;
    this.writing = lines.length;
    this.options.send(`${lines.join('\n')}\n`);
  }
}

/** Including the line break. */
function charactersOf(text: string): number {
  return text.length + 1;
}
