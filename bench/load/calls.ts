import type { AppAddress } from '../bench-app.ts';
import { type CalledProcess, startCalled } from '../machine/called-process.ts';
import type { Intake, IntakeResult } from './intake.ts';
import type { LoadSize, Step, StepResult } from './open-loop.ts';

/** What a load process can be asked, and what it answers. */
export type LoadCalls = {
  /** Connects the crowd and the publishers; settles when every subscription is confirmed. See `KernelSockets` for being awake. */
  connect: { ask: LoadSize & { app: AppAddress; staysAwake: boolean }; answer: null };
  step: { ask: Step; answer: StepResult };
  /** Requests that a server takes, one after another; nobody needs to be connected. */
  intake: { ask: Intake; answer: IntakeResult };
};

export type LoadProcess = CalledProcess<LoadCalls>;

/** Starts a load generator in a process of its own. */
export function startLoad(pin: readonly string[]): LoadProcess {
  return startCalled(pin, `${import.meta.dir}/process.ts`);
}
