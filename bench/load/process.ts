/** The load generator: a process of its own that does what its parent asks over IPC. */
import { lookup } from 'node:dns/promises';
import type { CallName, LoadAnswer, LoadCall, LoadCalls } from './calls.ts';
import { measureCeiling } from './ceiling.ts';
import { Crowd } from './crowd.ts';
import { KernelSockets } from './kernel-sockets.ts';
import { type Load, runStep } from './open-loop.ts';
import { Publishers } from './publishers.ts';

let load: Load | undefined;

function connected(): Load {
  if (load === undefined) throw new Error('connect comes first');
  return load;
}

async function answer(call: LoadCall): Promise<LoadCalls[CallName]['answer']> {
  switch (call.name) {
    case 'connect': {
      const { crowd, publishers } = call.ask;
      const host = (await lookup(call.ask.app.host, { family: 4 })).address;
      const app = { ...call.ask.app, host };
      const sockets = new KernelSockets();
      load = {
        app,
        sockets,
        crowd: new Crowd(sockets, app, crowd),
        publishers: new Publishers(sockets, app, publishers),
        nextSequence: 0,
      };
      load.crowd.fill();
      load.publishers.fill();
      return null;
    }
    case 'ceiling':
      return measureCeiling(connected(), call.ask);
    case 'step':
      return runStep(connected(), call.ask);
    default:
      return call satisfies never;
  }
}

function reply(message: LoadAnswer): void {
  process.send?.(message);
}

process.on('message', (call: LoadCall) => {
  answer(call).then(
    (value) => reply({ answer: value }),
    (error) => reply({ fault: error instanceof Error ? error.message : String(error) }),
  );
});
// Nobody left to answer to.
process.on('disconnect', () => process.exit(0));
