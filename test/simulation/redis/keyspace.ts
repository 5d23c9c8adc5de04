import type { Random } from '../../../testing/random.ts';
import { Failure, NO_INTEGER, type Reply, WRONG_TYPE } from './reply.ts';
import { SortedSet } from './sorted-set.ts';

/** A value, and when it ends: milliseconds of the clock of Redis. */
interface Entry {
  value: Value;
  endsAtMs: number | undefined;
}

type Value = string | string[] | Map<string, string> | SortedSet;

/** What commands need beside the keys. */
export interface KeyspaceOptions {
  /** The clock of Redis, in microseconds since 1970. */
  readonly nowUs: () => number;
  readonly random: Random;
}

/** The keys of one database. */
export class Keyspace {
  readonly random: Random;
  private readonly nowUs: () => number;
  private readonly entries = new Map<string, Entry>();

  constructor({ nowUs, random }: KeyspaceOptions) {
    this.nowUs = nowUs;
    this.random = random;
  }

  get nowMs(): number {
    return Math.floor(this.nowUs() / 1000);
  }

  /** Seconds, and microseconds of the second. */
  get time(): readonly [number, number] {
    const nowUs = this.nowUs();
    return [Math.floor(nowUs / 1_000_000), nowUs % 1_000_000];
  }

  /** When keys end, in the order in which they were written. */
  get ends(): readonly number[] {
    return [...this.entries.values()].flatMap(({ endsAtMs }) => endsAtMs ?? []);
  }

  get names(): readonly string[] {
    return [...this.entries.keys()].filter((key) => this.has(key));
  }

  clear(): void {
    this.entries.clear();
  }

  has(key: string): boolean {
    return this.entry(key) !== undefined;
  }

  delete(key: string): boolean {
    return this.entry(key) !== undefined && this.entries.delete(key);
  }

  text(key: string): string | undefined {
    const value = this.entry(key)?.value;
    if (value !== undefined && typeof value !== 'string') throw new Failure(WRONG_TYPE);
    return value;
  }

  hash(key: string): Map<string, string> | undefined {
    const value = this.entry(key)?.value;
    if (value !== undefined && !(value instanceof Map)) throw new Failure(WRONG_TYPE);
    return value;
  }

  list(key: string): string[] | undefined {
    const value = this.entry(key)?.value;
    if (value !== undefined && !Array.isArray(value)) throw new Failure(WRONG_TYPE);
    return value;
  }

  sortedSet(key: string): SortedSet | undefined {
    const value = this.entry(key)?.value;
    if (value !== undefined && !(value instanceof SortedSet)) throw new Failure(WRONG_TYPE);
    return value;
  }

  hashToWrite(key: string): Map<string, string> {
    return this.hash(key) ?? this.begin(key, new Map<string, string>());
  }

  listToWrite(key: string): string[] {
    return this.list(key) ?? this.begin(key, []);
  }

  sortedSetToWrite(key: string): SortedSet {
    return this.sortedSet(key) ?? this.begin(key, new SortedSet());
  }

  /** Writes a text, and keeps the end of the key. */
  setText(key: string, value: string): void {
    const entry = this.entry(key);
    if (entry === undefined) this.begin(key, value);
    else entry.value = value;
  }

  /** Writes a value in place of what the key holds, and when it ends. */
  replace(key: string, value: string, endsAtMs: number | undefined): void {
    this.entries.set(key, { value, endsAtMs });
  }

  rename(from: string, to: string): boolean {
    const entry = this.entry(from);
    if (entry === undefined) return false;
    this.entries.delete(from);
    this.entries.set(to, entry);
    return true;
  }

  /** Removes a key that holds nothing any more. */
  dropEmpty(key: string): void {
    const value = this.entries.get(key)?.value;
    const isEmpty = Array.isArray(value)
      ? value.length === 0
      : typeof value === 'object' && value.size === 0;
    if (isEmpty) this.entries.delete(key);
  }

  endsAtMs(key: string): number | undefined {
    return this.entry(key)?.endsAtMs;
  }

  /** A key whose end has passed is gone. */
  endAt(key: string, endsAtMs: number): void {
    const entry = this.entry(key);
    if (entry !== undefined) entry.endsAtMs = endsAtMs;
    if (endsAtMs <= this.nowMs) this.entries.delete(key);
  }

  private begin<Held extends Value>(key: string, value: Held): Held {
    this.entries.set(key, { value, endsAtMs: undefined });
    return value;
  }

  private entry(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry?.endsAtMs === undefined || this.nowMs <= entry.endsAtMs) return entry;
    this.entries.delete(key);
    return undefined;
  }
}

/** A command: what it does with the words behind its name. */
export interface Command {
  /** How many words, the name too; negative: at least so many. */
  readonly arity: number;
  readonly run: (keys: Keyspace, words: readonly string[]) => Reply;
}

/** Reads an integer as Redis does. */
export function integerOf(text: string | undefined, why = NO_INTEGER): number {
  if (text === undefined || !/^(?:0|-?[1-9]\d{0,18})$/.test(text)) throw new Failure(why);
  return checked(Number(text));
}

/** Adds two integers. */
export function sumOf(a: number, b: number): number {
  return checked(a + b);
}

function checked(value: number): number {
  // Redis has 64 bits. No script of the engine counts so far.
  if (!Number.isSafeInteger(value)) throw new Error(`the model cannot count up to ${value}`);
  return value;
}

/** The word at this place. Redis has checked how many there are. */
export function word(words: readonly string[], at: number): string {
  const found = words[at];
  if (found === undefined) throw new Failure('ERR syntax error');
  return found;
}
