import { APP, type Fanfare, portsBehind, SERVERS, THREADS } from '../servers/fanfare.ts';
import { api } from './sign.ts';

/** An event goes from its publisher to the home of its channel, and from there to subscribers. Each round is there and back. */
const ROUNDS = 2;

/**
 * Settles when the events that a server has accepted before this call have been sent to their subscribers. Messages between
 * two threads, and those of Redis, keep their order, so the answers to questions to every server come after them. With one
 * thread there is nothing to wait for.
 */
export async function threadsSettled(server: Pick<Fanfare, 'port'>): Promise<void> {
  const ports = portsBehind(server.port);
  if (THREADS === 1 && SERVERS === undefined) return;
  // Asks every thread, because no channel has this prefix.
  const query = { filter_by_prefix: 'no-such-channel' };
  for (let round = 0; round < ROUNDS; round++) {
    for (const port of ports) {
      const response = await api({ port }, 'GET', `/apps/${APP.id}/channels`, { query });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`The threads did not answer: ${text}`);
    }
  }
}
