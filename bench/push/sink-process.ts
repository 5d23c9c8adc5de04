/** A gateway that accepts all notifications, in its own process. Its parent calls it over IPC. */
import { startFakeFcm } from '../../src/fake-gateways/fcm/fake-fcm.ts';
import { answerCalls, type Call } from '../machine/called-process.ts';
import { ArrivalWatch } from './arrivals.ts';
import { sinkAnswers, startGatewaySink } from './gateway-sink.ts';
import type { SinkAddress, SinkCalls } from './sink-calls.ts';

/** Messages that the fake keeps: few, so that they stay out of the figures. */
const ENTRIES_MAX = 100;

let watch: ArrivalWatch | undefined;

function started(): ArrivalWatch {
  if (watch === undefined) throw new Error('start comes first');
  return watch;
}

async function start({ kind, latencyMs }: SinkCalls['start']['ask']): Promise<SinkAddress> {
  if (kind !== 'fcm') {
    let count = 0;
    const { origin, ca } = await startGatewaySink(sinkAnswers[kind], () => {
      count += 1;
    });
    watch = new ArrivalWatch(() => count);
    return { origin, ca, accountFile: '' };
  }
  const { origin, ca, accountFile, arrivals, script } = await startFakeFcm({
    entriesMax: ENTRIES_MAX,
  });
  script.latencyMs = latencyMs;
  watch = new ArrivalWatch(() => arrivals.count);
  return { origin, ca, accountFile };
}

async function answer(call: Call<SinkCalls>): Promise<SinkCalls[keyof SinkCalls]['answer']> {
  switch (call.name) {
    case 'start':
      return await start(call.ask);
    case 'count':
      started().clear();
      return null;
    case 'arrive': {
      const { notifications, silenceMs, overSeconds } = call.ask;
      return await started().reach(notifications, silenceMs, overSeconds);
    }
    default:
      return call satisfies never;
  }
}

answerCalls(answer);
