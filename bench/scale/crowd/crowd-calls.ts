import { type CalledProcess, startCalled } from '../../machine/called-process.ts';
import type { Broadcast, CrowdOptions, Gathered, Took } from './idle-crowd.ts';

/** The calls of a crowd, which is a process of its own. */
export type CrowdCalls = {
  open: { ask: CrowdOptions; answer: null };
  gather: { ask: number; answer: Gathered };
  rest: { ask: { seconds: number; isProbed: boolean }; answer: Took };
  broadcast: { ask: null; answer: Broadcast };
  storm: { ask: null; answer: Gathered };
};

export type CrowdProcess = CalledProcess<CrowdCalls>;

export function startCrowd(pin: readonly string[]): CrowdProcess {
  return startCalled(pin, `${import.meta.dir}/crowd-process.ts`);
}
