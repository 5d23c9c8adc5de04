import type { Socket } from 'node:net';
import type { SocketOptions } from '../../../src/engines/redis/link/open-socket.ts';
import { redisAt } from './redis-host.ts';

/** In place of `openSocket`: connects to a modelled Redis. */
export function openModelledSocket(
  port: number,
  { timeoutMs, timers }: SocketOptions,
  failure: (why: string) => Error,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let isGivenUp = false;
    const giveUp = (why: string) => {
      isGivenUp = true;
      stopTimer();
      reject(failure(why));
    };
    const stopTimer = timers.after(timeoutMs, () => giveUp(`no answer within ${timeoutMs} ms`));
    const host = redisAt(port);
    if (host === undefined) return giveUp('no such server');
    host.connect(
      (socket) => {
        if (isGivenUp) return socket.destroy();
        if (socket.isOver) return giveUp('closed');
        stopTimer();
        resolve(socket as unknown as Socket);
      },
      () => giveUp('connect ECONNREFUSED'),
    );
  });
}
