import type { AppAddress } from '../bench-app.ts';
import type { Ceiling } from './ceiling.ts';
import type { Intake, IntakeResult } from './intake.ts';
import type { LoadSize, Step, StepResult } from './open-loop.ts';

/** What a load process can be asked, and what it answers. One call at a time. */
export interface LoadCalls {
  /** Connects the crowd and the publishers; settles when every subscription is confirmed. See `KernelSockets` for being awake. */
  connect: { ask: LoadSize & { app: AppAddress; staysAwake?: boolean }; answer: null };
  /** Deliveries per second that it can receive. */
  ceiling: { ask: Ceiling; answer: number };
  step: { ask: Step; answer: StepResult };
  /** Requests that a server takes, one after another; nobody needs to be connected. */
  intake: { ask: Intake; answer: IntakeResult };
}

export type CallName = keyof LoadCalls;

/** One call as it travels to the load process. */
export type LoadCall = {
  [Name in CallName]: { name: Name; ask: LoadCalls[Name]['ask'] };
}[CallName];

/** One answer as it travels back. */
export type LoadAnswer = { answer: LoadCalls[CallName]['answer'] } | { fault: string };
