import type { AppAddress } from '../bench-app.ts';
import { residentBytes } from '../connections/server-memory.ts';
import { eventData } from '../load/bench-event.ts';
import { FallbackCrowd, type FallbackSize } from '../load/fallback/fallback-crowd.ts';
import { KernelSockets } from '../load/kernel-sockets.ts';
import { Publishers } from '../load/publishers.ts';
import { triggerRequest } from '../load/trigger-request.ts';

/** Sessions that connect, stay, receive events and disconnect, several times. */
export interface SessionRounds extends FallbackSize {
  readonly app: AppAddress;
  readonly serverPid: number;
  readonly rounds: number;
  readonly channels: number;
  readonly eventsEach: number;
  /** The time without requests before the memory of the server is read. */
  readonly settleSeconds: number;
}

/** Resident bytes of the server. */
export interface SessionMemory {
  readonly before: number;
  readonly rounds: readonly {
    readonly full: number;
    readonly received: number;
    readonly empty: number;
  }[];
}

const DATA_BYTES = 200;

/** Measures the memory of sessions. */
export function sessionRounds(task: SessionRounds): SessionMemory {
  const { app, serverPid, settleSeconds, channels, eventsEach } = task;
  using sockets = new KernelSockets();
  const names = Array.from({ length: channels }, (_, number) => `rounds-${number}`);
  const crowd = new FallbackCrowd(app, sockets);
  const publishers = new Publishers(sockets, app, 4);
  const settled = () => {
    const endMs = performance.now() + settleSeconds * 1000;
    while (performance.now() < endMs) sockets.poll(endMs - performance.now());
    return residentBytes(serverPid);
  };
  const before = settled();
  const rounds = Array.from({ length: task.rounds }, () => {
    crowd.gather(task, names);
    const full = settled();
    publishers.fill();
    for (let event = 0; event < eventsEach; event += 1) {
      for (const name of names) {
        publishers.send(triggerRequest(app, name, eventData(event, DATA_BYTES)));
      }
    }
    const received = settled();
    if (publishers.refusedCount > 0) throw new Error(`refused: ${publishers.firstRefusal}`);
    crowd.gather({ streaming: 0, polling: 0 }, names);
    return { full, received, empty: settled() };
  });
  return { before, rounds };
}
