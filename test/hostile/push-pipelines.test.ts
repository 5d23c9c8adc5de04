import { expect, it } from 'bun:test';
import { RawHttp, requestBytes } from '../../testing/clients/raw-http.ts';
import { openListener } from '../protocol/push/listener/open-listener.ts';
import { publish } from '../protocol/push/listener/requests-and-refusals.ts';

/** The address of the attacker. */
const ATTACKER = '127.0.0.2';

const CONNECTIONS = 100;
const REQUESTS = 32;

it('what one address sends in advance on 100 connections waits behind the next request of another one', async () => {
  let begun = 0;
  await using server = await openListener({
    bounds: { headMs: 60_000 },
    limitRate: ({ addressKey }) => {
      if (addressKey === ATTACKER) begun++;
      return undefined;
    },
  });
  await using connections = new AsyncDisposableStack();
  await using honest = await RawHttp.open(server);
  const hostile: RawHttp[] = [];
  for (let n = 0; n < CONNECTIONS; n++) {
    hostile.push(connections.use(await RawHttp.open(server, { from: ATTACKER })));
  }
  const refused = requestBytes({ method: 'GET', target: '/nowhere' });
  const inAdvance = Buffer.concat(Array.from({ length: REQUESTS }, () => refused));
  for (const one of hostile) one.write(inAdvance);
  expect((await honest.request(publish(5))).status).toBe(200);
  expect(begun).toBeLessThan((CONNECTIONS * REQUESTS) / 4);
  // All of them are answered.
  for (const one of hostile) {
    for (let n = 0; n < REQUESTS; n++) expect((await one.read()).status).toBe(404);
  }
});
