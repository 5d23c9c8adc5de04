import { openLog } from '../../observability/open-log.ts';
import { systemTimers } from '../../runtime/system-timers.ts';
import { LineRelay } from '../link/line-relay.ts';
import { LoopLinks } from '../link/loop-links.ts';
import type {
  BackgroundToLoop,
  FromRealtimeThread,
  LoopToBackground,
  RealtimeStart,
  ToRealtimeThread,
} from '../link/messages.ts';
import { listenError } from '../listen-error.ts';
import { StartFailed } from '../start-failed.ts';
import { firstFault } from '../uncaught.ts';
import { handleBackgroundMessage } from './background-messages.ts';
import type { Realtime } from './realtime.ts';
import { openRealtime } from './start.ts';

/**
 * The thread of a realtime loop other than the first one. It runs the commands of the main thread one after the
 * other.
 */

declare const self: Worker;

const post = (message: FromRealtimeThread) => self.postMessage(message);

let loop: RealtimeLoop | undefined;
let commands = Promise.resolve();

self.addEventListener('message', ({ data }: MessageEvent<ToRealtimeThread>) => {
  commands = commands.then(async () => {
    try {
      await run(data);
      post({ type: 'done' });
    } catch (error) {
      post({ type: 'failed', fault: faultOf(error) });
    }
  });
});

void firstFault().then((why) => post({ type: 'died', why }));
post({ type: 'up' });

async function run(message: ToRealtimeThread): Promise<void> {
  if (message.type === 'open') {
    loop = openLoop(message);
    return;
  }
  if (loop === undefined) throw new Error('The realtime loop is not open');
  const { realtime } = loop;
  switch (message.type) {
    case 'connect':
      await realtime.connect();
      return;
    case 'listen':
      try {
        realtime.listen(message.port);
      } catch (error) {
        throw listenError(error, 'channels', { ...loop.config.channels, port: message.port });
      }
      return;
    case 'certificate':
      realtime.replaceCertificate(message.tls);
      return;
    case 'drain':
      await realtime.drain();
      return;
    case 'retire':
      await realtime.retire();
      return;
    case 'dismiss':
      realtime.dismiss();
      return;
    case 'stop-listening':
      await realtime.stopListening();
      return;
    case 'close':
      await realtime.close(message.departuresMs);
      await loop.flushed();
      return;
    default:
      message satisfies never;
  }
}

interface RealtimeLoop {
  readonly config: RealtimeStart['config'];
  readonly realtime: Realtime;
  /** Settles once the log is written. */
  flushed(): Promise<void>;
}

function openLoop(start: RealtimeStart): RealtimeLoop {
  const { config, index, logFormat, logPort, backgroundPort, loopPorts } = start;
  const toBackground = (message: LoopToBackground) => backgroundPort.postMessage(message);
  const relay = new LineRelay((lines) => toBackground({ type: 'logged', lines }));
  const opened = openLog({
    level: config.log.level,
    format: logFormat,
    port: logPort,
    keep: (line) => relay.add(line),
  });
  const realtime = openRealtime({
    config,
    memory: start.memory,
    apps: start.apps,
    usage: start.usage,
    histories: start.histories,
    tls: start.tls,
    redisTls: start.redisTls,
    timers: systemTimers,
    log: opened.log,
    logLinesDropped: opened.droppedLines,
    links: new LoopLinks({ index, ports: loopPorts, handled: start.handled }),
    totals: start.totals,
    serverName: start.serverName,
    toBackground,
  });
  backgroundPort.onmessage = ({ data }: { readonly data: BackgroundToLoop }) =>
    handleBackgroundMessage(realtime, data, toBackground);
  return { config, realtime, flushed: async () => await opened[Symbol.asyncDispose]() };
}

function faultOf(error: unknown) {
  if (error instanceof StartFailed) return { exitCode: error.exitCode, message: error.message };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: 1, message } as const;
}
