import { afterAll, beforeAll, setDefaultTimeout } from 'bun:test';
import { startAutopush } from '../support/autopush.ts';
import { type BeamsSite, startBeamsSite } from '../support/beams-page.ts';
import { startFirefox } from '../support/firefox.ts';
import { type PushServer, startPushServer } from '../support/push-server.ts';
import { webSdkContract } from './web-sdk.contract.ts';

/** The official SDKs of Beams in a real Firefox, which subscribes at a push service of our own. */

setDefaultTimeout(30_000);

const parts = new AsyncDisposableStack();
let service: PushServer;
let site: BeamsSite;

beforeAll(async () => {
  service = parts.use(await startPushServer());
  site = parts.use(startBeamsSite(service));
  const autopush = parts.use(await startAutopush());
  parts.use(await startFirefox(site.url, autopush));
  // Before it has said hello, it never answers a page that asks for its subscription.
  await autopush.waitForHello();
});

afterAll(async () => {
  await parts.disposeAsync();
});

webSdkContract('Firefox', () => ({ site, service }));
