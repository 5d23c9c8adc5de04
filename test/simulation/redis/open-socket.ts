import type { Socket } from 'node:net';
import type { SocketOptions } from '../../../src/engines/redis/link/open-socket.ts';
import { type Party, placeOf } from '../../../src/engines/redis/link/party.ts';
import { RedisAway } from '../../../src/engines/redis/link/reply.ts';
import { redisAt } from './redis-host.ts';

/** In place of the function of the same name: connects to a modelled Redis. */
export function openSocket(party: Party, { timeoutMs, timers }: SocketOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let isGivenUp = false;
    const giveUp = (why: string) => {
      isGivenUp = true;
      stopTimer();
      reject(new RedisAway(`cannot connect to ${placeOf(party)}: ${why}`, false));
    };
    const stopTimer = timers.after(timeoutMs, () => giveUp(`no answer within ${timeoutMs} ms`));
    const host = redisAt(party.endpoint.port);
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
