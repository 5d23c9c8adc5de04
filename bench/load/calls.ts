import type { AppAddress } from '../bench-app.ts';
import type { Ceiling } from './ceiling.ts';
import type { CrowdSize } from './crowd.ts';
import type { Step, StepResult } from './open-loop.ts';

/** What a load process can be asked, and what it answers. One call at a time. */
export interface LoadCalls {
  /** Connects the crowd and the publishers; settles when every subscription is confirmed. */
  connect: { ask: { app: AppAddress; crowd: CrowdSize; publishers: number }; answer: null };
  /** Deliveries per second that it can receive. */
  ceiling: { ask: Ceiling; answer: number };
  step: { ask: Step; answer: StepResult };
}

export type CallName = keyof LoadCalls;

/** One call as it travels to the load process. */
export type LoadCall = {
  [Name in CallName]: { name: Name; ask: LoadCalls[Name]['ask'] };
}[CallName];

/** One answer as it travels back. */
export type LoadAnswer = { answer: LoadCalls[CallName]['answer'] } | { fault: string };
