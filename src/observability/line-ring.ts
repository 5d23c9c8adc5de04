import { FairBudget } from '../runtime/fairness/fair-budget.ts';
import type { KeptLine } from './log.ts';

/** A line in its place. */
export interface NumberedLine extends KeptLine {
  /** Increases with each line, even across restarts, provided that there are fewer than 1,000 lines a second. */
  readonly n: number;
}

const LINES_MAX = 1_000;
const CHARACTERS_MAX = 1_048_576;

/** What a line takes besides its text. Characters. */
const LINE_CHARACTERS = 100;

/** The last lines of the log. If there is no room, the owner with the most characters loses its oldest lines. */
export class LineRing {
  /** By owner, the oldest first. */
  private readonly owners = new Map<string, NumberedLine[]>();
  private readonly budget = new FairBudget(CHARACTERS_MAX);
  private readonly listeners = new Set<(line: NumberedLine) => void>();
  private count = 0;
  private lastNumber: number;

  /** `startMs`: when the server started, in milliseconds since 1970. */
  constructor(startMs: number) {
    this.lastNumber = startMs;
  }

  /** The number of the newest line. */
  get last(): number {
    return this.lastNumber;
  }

  add(line: KeptLine): void {
    const numbered = { ...line, n: ++this.lastNumber };
    const lines = this.owners.get(line.owner) ?? [];
    this.owners.set(line.owner, lines);
    lines.push(numbered);
    this.count++;
    this.budget.add(line.owner, charactersOf(line));
    while (this.count > LINES_MAX || this.budget.total > CHARACTERS_MAX) this.dropOldest();
    for (const listener of this.listeners) listener(numbered);
  }

  /** All kept lines, the oldest first. */
  all(): readonly NumberedLine[] {
    return [...this.owners.values()].flat().toSorted((a, b) => a.n - b.n);
  }

  /** Calls the listener with each further line; gives how to stop. */
  listen(listener: (line: NumberedLine) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private dropOldest(): void {
    const owner = this.budget.largestOwner() ?? '';
    const lines = this.owners.get(owner);
    const oldest = lines?.shift();
    if (oldest === undefined) throw new Error('The owner with the most lines has no lines');
    this.budget.release(owner, charactersOf(oldest));
    this.count--;
    if (lines?.length === 0) this.owners.delete(owner);
  }
}

function charactersOf({ text }: KeptLine): number {
  return text.length + LINE_CHARACTERS;
}
