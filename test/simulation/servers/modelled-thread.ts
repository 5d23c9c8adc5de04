import { LoopLinks } from '../../../src/node/link/loop-links.ts';
import type {
  BackgroundToLoop,
  RealtimeStart,
  ToRealtimeThread,
} from '../../../src/node/link/messages.ts';
import { RealtimeLoop } from '../../../src/node/realtime/realtime-loop.ts';
import { systemTimers } from '../../../src/runtime/system-timers.ts';
import type { Context } from '../kernel/context.ts';
import { kernelInUse } from '../kernel/globals.ts';
import { networkInUse } from '../network/network.ts';
import { hostOf, type ThreadHost } from './thread-host.ts';

/** In place of `RealtimeThread`: the loop runs in a context of its own, and gets the commands that `worker.ts` gets. */
export class ModelledThread {
  readonly died = new Promise<string>(() => undefined);
  private readonly host: ThreadHost;
  private readonly main: Context;
  private readonly own: Context;
  private loop: RealtimeLoop | undefined;

  constructor(index: number) {
    this.main = kernelInUse().context;
    this.host = hostOf(this.main);
    this.own = this.host.addThread(`loop ${index}`);
  }

  async open(start: RealtimeStart): Promise<void> {
    await this.run(() => {
      const { config, memory, tls, redisTls, serverName, index, loopPorts, counts } = start;
      const { backgroundPort, countedTogether } = start;
      const loop = new RealtimeLoop(
        {
          ...{ config, memory, tls, redisTls, serverName, countedTogether },
          timers: systemTimers,
          log: this.host.log,
          logLinesDropped: () => 0,
          toBackground: (message) => backgroundPort.postMessage(message),
          links: new LoopLinks({ index, ports: loopPorts, counts }),
        },
        structuredClone(start.initial),
      );
      backgroundPort.onmessage = ({ data }: { readonly data: BackgroundToLoop }) =>
        loop.receive(data);
      this.loop = loop;
    });
  }

  async command(message: Exclude<ToRealtimeThread, { readonly type: 'open' }>): Promise<void> {
    await this.run(async () => {
      const { loop } = this;
      switch (message.type) {
        case 'connect':
          return await loop?.connect();
        case 'listen':
          return void loop?.listen(message.port);
        case 'certificate':
          return loop?.replaceCertificate(message.tls);
        case 'drain':
          return await loop?.drain();
        case 'retire':
          return await loop?.retire();
        case 'dismiss':
          return loop?.dismiss();
        case 'stop-listening':
          return await loop?.stopListening();
        case 'depart':
          return await loop?.depart(message.maxMs);
        case 'close':
          return await loop?.close();
        default:
          message satisfies never;
      }
    });
  }

  terminate(): void {
    this.own.isDead = true;
  }

  /** Runs something in the thread. Settles in the main thread. */
  private run(work: () => void | Promise<void>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const network = networkInUse();
    const reply = (settle: () => void) => network.post(this.main, settle);
    const begin = async () => {
      try {
        await work();
        reply(resolve);
      } catch (error) {
        reply(() => reject(error));
      }
    };
    network.post(this.own, () => void begin());
    return promise;
  }
}
