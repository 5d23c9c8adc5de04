import { z } from 'zod';
import type { OfAllServers } from '../../asking/facts/servers.ts';

/** The server that something is of. */
export const server = z.string().describe('Host and port of the server that it is of.');

/** The servers that an answer is of. */
export const servers = z
  .array(
    z
      .strictObject({
        name: z.string(),
        away: z.boolean().describe('It did not answer within 1 s, so its part is missing.'),
      })
      .meta({ id: 'AskedServer' }),
  )
  .describe('The servers that were asked, this one first or in the order of their names.');

/** The end of a sentence about something that was not found, if some servers did not answer; otherwise empty. */
export function unlessAway({ servers: asked }: OfAllServers): string {
  const away = asked.filter((one) => one.away).map(({ name }) => name);
  return away.length === 0 ? '' : `; ${away.join(', ')} did not answer`;
}
