/** A crowd of clients, in its own process. Its parent calls it over IPC. */
import { answerCalls, type Call } from '../../machine/called-process.ts';
import type { CrowdCalls } from './crowd-calls.ts';
import { IdleCrowd } from './idle-crowd.ts';

let opened: IdleCrowd | undefined;

function crowd(): IdleCrowd {
  if (opened === undefined) throw new Error('open comes first');
  return opened;
}

async function answer(call: Call<CrowdCalls>): Promise<CrowdCalls[keyof CrowdCalls]['answer']> {
  switch (call.name) {
    case 'open':
      opened = new IdleCrowd(call.ask);
      return null;
    case 'gather':
      return crowd().gather(call.ask);
    case 'rest':
      return crowd().rest(call.ask.seconds, call.ask);
    case 'broadcast':
      return crowd().broadcast();
    case 'storm':
      return crowd().storm();
    default:
      return call satisfies never;
  }
}

answerCalls(answer);
