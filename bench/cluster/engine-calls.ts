import { type CalledProcess, startCalled } from '../machine/called-process.ts';

/** Channels that are all alike: `PREFIX-0`, `PREFIX-1` and so on. */
export interface Channels {
  readonly prefix: string;
  readonly count: number;
}

/** Calls that are repeated for a while. */
export interface Busy {
  readonly channels: Channels;
  /** The number of calls in flight. */
  readonly atOnce: number;
  readonly seconds: number;
}

/** The calls of an engine process, with their results. */
export type EngineCalls = {
  start: { ask: { url: string }; answer: null };
  /** Enters each channel with one subscription, and stays. */
  listen: { ask: Channels; answer: null };
  /** Enters each presence channel with `membersEach` users, and stays. */
  fill: { ask: { channels: Channels; membersEach: number }; answer: null };
  /** Users enter presence channels and leave them. Answers with the number of both. */
  churn: { ask: Busy; answer: number };
  /** Publishes events. Answers with their number. */
  publish: { ask: Busy; answer: number };
  /** Answers once the departure of `members` members was reported since the call. */
  untilGone: { ask: { members: number; seconds: number }; answer: null };
};

export type EngineProcess = CalledProcess<EngineCalls>;

/** Starts a node without sockets: the engine over Redis in its own process. `clone`: the folder of another version. */
export async function startEngine(url: string, clone?: string): Promise<EngineProcess> {
  await using parts = new AsyncDisposableStack();
  const folder = clone === undefined ? import.meta.dir : `${clone}/bench/cluster`;
  const engine = parts.use(startCalled<EngineCalls>([], `${folder}/engine-process.ts`));
  await engine.call('start', { url });
  parts.move();
  return engine;
}
