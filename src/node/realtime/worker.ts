import { openLog } from '../../observability/open-log.ts';
import { stackOf } from '../../runtime/error-code.ts';
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
import { RealtimeLoop } from './realtime-loop.ts';

/**
 * The thread of a realtime loop other than the first one. It runs the commands of the main thread one after the
 * other.
 */

declare const self: Worker;

const post = (message: FromRealtimeThread) => self.postMessage(message);

let open: OpenLoop | undefined;
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
    open = openLoop(message);
    return;
  }
  if (open === undefined) throw new Error('The realtime loop is not open');
  const { loop } = open;
  switch (message.type) {
    case 'connect':
      await loop.connect();
      return;
    case 'listen':
      try {
        loop.listen(message.port);
      } catch (error) {
        throw listenError(error, 'channels', { ...open.config.channels, port: message.port });
      }
      return;
    case 'certificate':
      loop.replaceCertificate(message.tls);
      return;
    case 'drain':
      await loop.drain();
      return;
    case 'retire':
      await loop.retire();
      return;
    case 'dismiss':
      loop.dismiss();
      return;
    case 'stop-listening':
      await loop.stopListening();
      return;
    case 'depart':
      await loop.depart(message.maxMs);
      return;
    case 'close':
      await loop.close();
      await open.flushed();
      return;
    default:
      message satisfies never;
  }
}

interface OpenLoop {
  readonly config: RealtimeStart['config'];
  readonly loop: RealtimeLoop;
  /** Settles once the log is written. */
  flushed(): Promise<void>;
}

function openLoop(start: RealtimeStart): OpenLoop {
  const { config, index, logFormat, logPort, backgroundPort, loopPorts } = start;
  const toBackground = (message: LoopToBackground) => backgroundPort.postMessage(message);
  const relay = new LineRelay((lines) => toBackground({ type: 'logged', lines }));
  const opened = openLog({
    level: config.log.level,
    format: logFormat,
    port: logPort,
    keep: (line) => relay.add(line),
  });
  const loop = new RealtimeLoop(
    {
      config,
      memory: start.memory,
      tls: start.tls,
      redisTls: start.redisTls,
      timers: systemTimers,
      log: opened.log,
      logLinesDropped: opened.droppedLines,
      serverName: start.serverName,
      toBackground,
      links: new LoopLinks({ index, ports: loopPorts, counts: start.counts }),
      countedTogether: start.countedTogether,
    },
    start.initial,
  );
  backgroundPort.onmessage = ({ data }: { readonly data: BackgroundToLoop }) => loop.receive(data);
  return { config, loop, flushed: async () => await opened[Symbol.asyncDispose]() };
}

function faultOf(error: unknown) {
  if (error instanceof StartFailed) return { exitCode: error.exitCode, message: error.message };
  const message = stackOf(error);
  return { exitCode: 1, message } as const;
}
