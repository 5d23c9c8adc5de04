import { FakeTime } from '../../../testing/fake-time.ts';
import type { Sender } from '../../runtime/fairness/sender-queue.ts';
import { Http2Client, type Http2ClientOptions, type Http2Event } from './client.ts';
import { type FakeLine, FakeNetwork, settled } from './network.fixture.ts';
import type { Http2Result } from './request.ts';

/** A client on a network in memory, with fake timers. */
export function clientOnFakes(options: Partial<Http2ClientOptions> = {}) {
  const timers = new FakeTime({ turns: 20 });
  const network = new FakeNetwork();
  const events: Http2Event[] = [];
  const client = new Http2Client({
    origin: 'https://push.example.test',
    connectionsMax: 4,
    streamsPerConnectionMax: 100,
    waitingMax: 1000,
    requestTimeoutMs: 10_000,
    findAddresses: async () => ({ ok: true, addresses: ['192.0.2.1'] }),
    openWire: network.openWire,
    timers,
    onEvent: (event) => events.push(event),
    ...options,
  });
  /** Sends requests with their path as body. Returns the results, which are filled in as they come. */
  const postAs = (
    sender: Sender | undefined,
    ...paths: readonly string[]
  ): (Http2Result | undefined)[] => {
    const results: (Http2Result | undefined)[] = paths.map(() => undefined);
    for (const [index, path] of paths.entries()) {
      const request = { path, fields: [], body: Buffer.from(path), ...(sender && { sender }) };
      void client.send(request).then((result) => {
        results[index] = result;
      });
    }
    return results;
  };
  const post = (...paths: readonly string[]) => postAs(undefined, ...paths);
  /** Posts like `post`, and settles once everything has run that waits for no timer. */
  const posted = async (...paths: readonly string[]) => {
    const results = post(...paths);
    await settled();
    return results;
  };
  return { client, network, timers, events, post, postAs, posted, settled };
}

/** A peer that answers each request at once. */
export function alwaysAnswer(line: FakeLine): void {
  line.sendSettings();
  line.onRequest = ({ id }) => line.answer(id);
}

export function paths(count: number, prefix = '/'): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

/** The results as short texts: `200`, `unknown reset`, `-` for none yet. */
export function inShort(results: readonly (Http2Result | undefined)[]): readonly string[] {
  return results.map((result) => {
    if (result === undefined) return '-';
    return result.result === 'answered' ? String(result.status) : `${result.result} ${result.why}`;
  });
}
