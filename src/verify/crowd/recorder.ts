import type { Timers } from '../../runtime/ports.ts';
import { Checker } from '../check/check.ts';
import type { Verdict } from '../check/verdict.ts';
import type { FaultKind, Fields, Header, Line, Op } from '../history/line.ts';

/** Connections that end within this time end for one reason. Milliseconds. */
const TOGETHER_MS = 1000;
/** After a fault that was noticed, the next one is another. Milliseconds. */
const SAME_FAULT_MS = 5000;
/** Longer texts of a server are cut, as the format demands. Characters. */
const TEXT_CHARACTERS_MAX = 200;
/** More is not recorded: a history must be readable, and memory has an end. */
const LINES_MAX = 20_000_000;

/** Writes down what happens, at the moment when it happens, and checks it on the way. */
export class Recorder {
  /** Set at the bound of a history. */
  isFull = false;
  private readonly timers: Timers;
  private readonly startMs: number;
  private readonly checker: Checker;
  private readonly write: (line: string) => void;
  private lines = 0;
  private lost: readonly number[] = [];
  private faultAt = Number.NEGATIVE_INFINITY;

  /** `write` gets each line as JSON. */
  constructor(header: Header, timers: Timers, write: (line: string) => void) {
    this.timers = timers;
    this.startMs = timers.now();
    this.checker = new Checker(header);
    this.write = write;
    write(JSON.stringify(header));
  }

  /** When a connection, a subscription or a fault last changed. */
  get changedAt(): number {
    return this.checker.changedAt;
  }

  /** Milliseconds since the start. */
  get now(): number {
    return Math.round((this.timers.now() - this.startMs) * 10) / 10;
  }

  /** Adds a line; several about one webhook request have the same `t`. */
  add<O extends Op>(op: O, fields: Fields[O], t = this.now): void {
    if (this.isFull) return;
    const line = { op, t, ...fields } as unknown as Line;
    this.checker.add(line);
    this.write(JSON.stringify(line));
    this.lines++;
    this.isFull = this.lines >= LINES_MAX;
  }

  /**
   * Notes that a server has ended a connection. Two at once are a fault of it: it was killed, or it was stopped and said so.
   */
  connectionLost(code: number): void {
    const { now } = this;
    this.lost = [...this.lost.filter((at) => now - at < TOGETHER_MS), now];
    if (this.lost.length < 2 || now - this.faultAt < SAME_FAULT_MS) return;
    this.faultAt = now;
    const what: FaultKind = code === 1006 ? 'kill' : 'stop';
    this.add('fault', { what });
  }

  /** Judges what was recorded. Nothing more is. */
  verdict(): Verdict {
    this.isFull = true;
    return this.checker.verdict();
  }
}

/** A text of a server, as a history may have it. */
export function recorded(text: string): string {
  return text.slice(0, TEXT_CHARACTERS_MAX);
}
