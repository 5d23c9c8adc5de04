import type { AppAddress } from './bench-app.ts';
import type { Churn, Idle, IdleRun } from './connections/tasks.ts';
import type { SessionMemory, SessionRounds } from './fallback/rounds.ts';
import type { LoopResult } from './load/closed-loop.ts';
import type { FallbackSize } from './load/fallback/fallback-crowd.ts';
import type { Intake, IntakeResult } from './load/intake.ts';
import type { LoadSize, Step, StepResult } from './load/open-loop.ts';
import { type CalledProcess, startCalled } from './machine/called-process.ts';

/** The calls of a load process, with their results. */
export type LoadCalls = {
  /** Connects the crowd and the publishers; settles when every subscription is confirmed. See `KernelSockets` for being awake. */
  connect: { ask: LoadSize & { app: AppAddress; staysAwake: boolean }; answer: null };
  /** Replaces the clients over the HTTP transports. */
  fallback: { ask: FallbackSize; answer: null };
  /** Lets sessions over HTTP connect and disconnect, and samples the memory of the server. */
  sessions: { ask: SessionRounds; answer: SessionMemory };
  step: { ask: Step; answer: StepResult };
  /** Sends requests one after another; needs no connected clients. */
  intake: { ask: Intake; answer: IntakeResult };
  churn: { ask: Churn; answer: LoopResult };
  idle: { ask: Idle; answer: IdleRun };
};

export type LoadProcess = CalledProcess<LoadCalls>;

/** Starts a load generator in a process of its own. */
export function startLoad(pin: readonly string[]): LoadProcess {
  return startCalled(pin, `${import.meta.dir}/load-process.ts`);
}
