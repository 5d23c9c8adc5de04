import { FairBudget } from '../runtime/fair-budget.ts';

/** Characters of lines that may wait. */
const WAITING_CHARACTERS_MAX = 4_194_304;

/** The same for the server's own warnings and errors, which have this room to themselves before they share the other. */
const URGENT_CHARACTERS_MAX = 262_144;

/** Owners whose dropped lines are counted apart. */
const DROPPED_OWNERS_MAX = 20;

/** The owner of lines that belong to no tenant. */
export const SERVER = 'server';

/** One line of the log. */
export interface LogLine {
  readonly text: string;
  /** The app or instance that it is about, or `SERVER`. */
  readonly owner: string;
  /** A warning or an error. */
  readonly isSevere: boolean;
}

export interface LineWriterOptions {
  /** Writes this text somewhere else. `written` must be called before it is called again. */
  readonly send: (text: string) => void;
  /** The line that reports dropped lines. */
  readonly droppedLine: (owner: string, lines: number) => string;
}

interface Waiting {
  /** `undefined`: dropped in favour of another. */
  text: string | undefined;
}

/**
 * Holds lines until they can be written, which may take long where nobody reads them. The caller never waits.
 * Where there is no room, the owner with the most loses its newest lines first; the lines that stay keep their order.
 */
export class LineWriter {
  /** Since the start. */
  droppedLines = 0;
  private readonly options: LineWriterOptions;
  private waiting: Waiting[] = [];
  private byOwner = new Map<string, Waiting[]>();
  private budget = new FairBudget(WAITING_CHARACTERS_MAX);
  private urgentCharacters = 0;
  /** Lines that are being written. */
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

  /** What was sent has been written, or could not be. */
  written(succeeded: boolean): void {
    const lines = this.writing;
    this.writing = 0;
    if (!succeeded) this.drop(SERVER, lines);
    // After a failure, a report of it would fail as well, and so on without end: it waits for the next line.
    if (this.waiting.length > 0 || (succeeded && this.dropped.size > 0)) this.sendNext();
    else this.idle?.resolve();
  }

  /** Settles when everything that was written so far has left, or after `msMax`. */
  async flushed(msMax: number): Promise<void> {
    if (this.writing === 0) return;
    this.idle ??= Promise.withResolvers();
    await Promise.race([this.idle.promise, Bun.sleep(msMax)]);
  }

  private makeRoom(owner: string, characters: number): boolean {
    for (;;) {
      const loser = this.budget.whoYields(owner, characters);
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

/** With the end of the line. */
function charactersOf(text: string): number {
  return text.length + 1;
}
