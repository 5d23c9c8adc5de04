/** The load generator, in its own process. Its parent calls it over IPC. */
import { lookup } from 'node:dns/promises';
import type { AppAddress } from './bench-app.ts';
import { churn, idle } from './connections/tasks.ts';
import { sessionRounds } from './fallback/rounds.ts';
import { measureIntake } from './load/intake.ts';
import { KernelSockets } from './load/kernel-sockets.ts';
import { connectLoad, type Load, runStep } from './load/open-loop.ts';
import type { LoadCalls } from './load-calls.ts';
import { answerCalls, type Call } from './machine/called-process.ts';

let load: Load | undefined;

function connected(): Load {
  if (load === undefined) throw new Error('connect comes first');
  return load;
}

/** The same app with an address of the kernel's. */
async function reachable(app: AppAddress): Promise<AppAddress> {
  return { ...app, host: (await lookup(app.host, { family: 4 })).address };
}

async function answer(call: Call<LoadCalls>): Promise<LoadCalls[keyof LoadCalls]['answer']> {
  switch (call.name) {
    case 'connect': {
      const { app, staysAwake, publishTo, ...size } = call.ask;
      load = connectLoad(await reachable(app), new KernelSockets(staysAwake), {
        ...size,
        ...(publishTo && { publishTo: await reachable(publishTo) }),
      });
      return null;
    }
    case 'fallback': {
      const { fallback, crowd } = connected();
      fallback.gather(call.ask, crowd.channels);
      return null;
    }
    case 'sessions':
      return sessionRounds({ ...call.ask, app: await reachable(call.ask.app) });
    case 'step':
      return runStep(connected(), call.ask);
    case 'intake': {
      using sockets = new KernelSockets(call.ask.staysAwake);
      return measureIntake(sockets, { ...call.ask, app: await reachable(call.ask.app) });
    }
    case 'churn':
      return churn({ ...call.ask, app: await reachable(call.ask.app) });
    case 'idle':
      return idle({ ...call.ask, app: await reachable(call.ask.app) });
    default:
      return call satisfies never;
  }
}

answerCalls(answer);
