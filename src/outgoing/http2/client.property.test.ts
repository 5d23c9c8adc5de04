import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { clientOnFakes, paths } from './client.fixture.ts';
import { ERROR } from './frames/protocol.ts';
import type { FakeLine } from './network.fixture.ts';
import type { PeerRequest } from './peer.fixture.ts';

/** What a peer may do with a request. */
const acts = ['answer', 'answer', 'answer', 'answer later', 'refuse', 'reset', 'hang'] as const;
/** What may happen to a connection at any time. */
const incidents = [
  'none',
  'none',
  'none',
  'goAway',
  'cut',
  'fewer',
  'more',
  'unreachable',
] as const;

const TIMEOUT_MS = 4000;

it('settles every request with the truth, whatever peers do', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.infiniteStream(fc.constantFrom(...acts)),
      fc.array(fc.constantFrom(...incidents), { minLength: 10, maxLength: 10 }),
      fc.integer({ min: 1, max: 8 }),
      async (actsOfPeers, incidentsInTime, streamsMax) => {
        const { network, post, timers } = clientOnFakes({ requestTimeoutMs: TIMEOUT_MS });
        /** How often each path was processed by any peer. */
        const processed = new Map<string, number>();
        const goAways = new Map<FakeLine, number>();

        const onRequest = (line: FakeLine, { id, fields }: PeerRequest) => {
          if (id > (goAways.get(line) ?? Number.POSITIVE_INFINITY)) return;
          const act = actsOfPeers.next().value;
          if (act === 'refuse') return line.reset(id, ERROR.refusedStream);
          const path = fields[':path'] ?? '';
          processed.set(path, (processed.get(path) ?? 0) + 1);
          if (act === 'answer') line.answer(id);
          if (act === 'answer later') timers.after(300, () => line.answer(id));
          if (act === 'reset') line.reset(id, ERROR.internalError);
        };
        network.onOpen = (line) => {
          line.pongs = true;
          line.sendSettings({ maxConcurrentStreams: streamsMax });
          line.onRequest = (request) => onRequest(line, request);
        };

        const all: [path: string, results: ReturnType<typeof post>][] = [];
        for (const [index, incident] of incidentsInTime.entries()) {
          for (const path of paths(6, `/${index}/`)) all.push([path, post(path)]);
          await timers.advance(100);
          network.failure = incident === 'unreachable' ? { why: 'ECONNREFUSED' } : undefined;
          const line = network.lines.findLast(({ isClosed }) => !isClosed);
          if (line !== undefined) {
            const lastId = line.requests.at(-1)?.id ?? 0;
            if (incident === 'goAway' && !goAways.has(line)) {
              goAways.set(line, lastId);
              line.goAway(lastId);
            }
            if (incident === 'cut') line.cut();
            if (incident === 'fewer') line.sendSettings({ maxConcurrentStreams: 1 });
            if (incident === 'more') line.sendSettings({ maxConcurrentStreams: 50 });
          }
          await timers.advance(400);
        }
        network.failure = undefined;
        await timers.advance(TIMEOUT_MS + 500);

        for (const [path, [result]] of all) {
          const times = processed.get(path) ?? 0;
          // All are settled, and only unprocessed requests were sent again.
          expect(result).toBeDefined();
          expect(times).toBeLessThanOrEqual(1);
          if (result?.result === 'answered') expect(times).toBe(1);
          if (result?.result === 'unprocessed') expect(times).toBe(0);
        }
      },
    ),
    { numRuns: 60 },
  );
});
