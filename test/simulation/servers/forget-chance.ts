import { newHalf as newHalfOfEventId } from '../../../src/channels/history/event-id.ts';
import { newHalf as newHalfOfSocketId } from '../../../src/channels/socket-id.ts';
import { chanceTaken } from '../kernel/globals.ts';

/** Uses up the random numbers that the server has drawn in advance, which are left from the seed before. */
export function forgetChance(): void {
  for (const draw of [newHalfOfEventId, newHalfOfSocketId]) {
    const before = chanceTaken();
    while (chanceTaken() === before) draw();
  }
}
