import { createRequire } from 'node:module';
import { join } from 'node:path';
import { checkClient, serveAuth } from './clients.mjs';
import { Backend, checkServer } from './servers.mjs';

/**
 * Checks older versions of the libraries of Pusher for JavaScript against a running server. The arguments are the folder
 * where they are installed, and JSON of ../scene.ts.
 */

const require = createRequire(join(process.argv[2], 'package.json'));

for (const library of ['pusher-1', 'pusher-2', 'pusher-4']) {
  await checkServer(new Backend(library, require(library)));
}

const backend = new Backend('pusher-2', require('pusher-2'));
const auth = await serveAuth(backend);
for (const version of ['3', '4', '5', '6', '7']) {
  const library = `pusher-js-${version}`;
  const Pusher = require(`${library}/dist/node/pusher.js`);
  await checkClient(library, Pusher, { backend, authUrl: auth.url });
}
auth.close();
process.exit(0);
