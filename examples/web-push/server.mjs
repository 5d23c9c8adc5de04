/** A site whose visitors can subscribe to notifications, and the backend that sends one. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import PushNotifications from '@pusher/push-notifications-server';

const { INSTANCE_ID, SECRET_KEY, PORT = '3000', FANFARE_PUSH_PORT = '6002' } = process.env;
if (INSTANCE_ID === undefined || SECRET_KEY === undefined) {
  console.error('Set INSTANCE_ID and SECRET_KEY: `npx fanfare instances show ID --secret`');
  process.exit(2);
}
const fanfare = `http://localhost:${FANFARE_PUSH_PORT}`;
const push = new PushNotifications({
  instanceId: INSTANCE_ID,
  secretKey: SECRET_KEY,
  endpoint: 'localhost',
  port: Number(FANFARE_PUSH_PORT),
});

const sdk = '@pusher/push-notifications-web/dist/push-notifications-cdn.js';
const script = await readFile(createRequire(import.meta.url).resolve(sdk));
const settings = { instanceId: INSTANCE_ID, endpointOverride: fanfare };
const page = (await readFile(new URL('page.html', import.meta.url), 'utf8')).replace(
  'SETTINGS',
  JSON.stringify(settings),
);
const files = {
  '/': ['text/html', page],
  '/push-notifications-cdn.js': ['text/javascript', script],
  // The browser shows notifications by this script, also when no page is open.
  '/service-worker.js': ['text/javascript', `importScripts('${fanfare}/sdk/service-worker.js');`],
};

const server = createServer(async ({ method, url }, response) => {
  // The SDK adds its version to the address of the worker.
  const file = files[url.split('?')[0]];
  if (method === 'GET' && file !== undefined) {
    response.writeHead(200, { 'content-type': file[0] }).end(file[1]);
  } else if (method === 'POST' && url === '/send') {
    const notification = { title: 'Donuts', body: 'They are out of the oven.' };
    try {
      const { publishId } = await push.publishToInterests(['donuts'], { web: { notification } });
      response.end(publishId);
    } catch (error) {
      console.error(error);
      response.writeHead(502).end();
    }
  } else {
    response.writeHead(404).end();
  }
});
server.listen(Number(PORT), 'localhost', () => {
  console.log(`Page on http://localhost:${server.address().port}`);
});
