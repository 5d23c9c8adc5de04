import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { untrusted } from '../../../testing/servers/certificates.ts';
import { startFanfare } from '../../../testing/servers/fanfare.ts';
import { type SpecApp, startSpecBackend } from './backend.ts';
import { openInChromium, openInFirefox } from './browsers.ts';
import { NODE_PARTS, runInNode } from './node.ts';
import { OTHERS, SETTINGS, startSpecSite } from './page.ts';

/**
 * Runs the integration specs of pusher-js, unchanged, in Chromium against this server: `npm run test:pusher-js`. With the
 * word `firefox`, in Firefox; with others, such as `xhr_streaming`, only the settings that contain one of them. With
 * `--client fanfare-js`, the specs test that in its place, also those for Node and the unit specs of its API. The specs
 * connect to the hosted service: for the browser its names are two servers, one of them with TLS.
 */

/** How many specs pusher-js 8.6.0 has for each setting, three of which only disconnect, and how many others. */
const SPECS_OF_SETTING = 34;
const SPECS_OF_OTHERS = 24;

const MT1: SpecApp = { id: 'mt1', key: 'c49a449b916bb4246729', secret: 'secret of mt1' };
const EU: SpecApp = { id: 'eu', key: 'cb7d5e50f5669e5c9ae6', secret: 'secret of eu' };

const { values, positionals } = parseArgs({
  options: { client: { type: 'string', default: 'pusher-js' } },
  allowPositionals: true,
});
if (values.client !== 'pusher-js' && values.client !== 'fanfare-js') {
  throw new Error(`--client takes pusher-js or fanfare-js, not "${values.client}"`);
}
const client = values.client;

await using parts = new AsyncDisposableStack();
const folder = mkdtempSync(join(tmpdir(), 'fanfare-specs-'));
parts.defer(() => rmSync(folder, { recursive: true, force: true }));
const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
writeFileSync(tls.certFile, untrusted.cert);
writeFileSync(tls.keyFile, untrusted.key);

const moreApps = [MT1, EU].map(({ id, key, secret }) => ({
  id,
  name: id,
  keys: [{ key, secret }],
  clientEvents: true,
}));
const plain = parts.use(await startFanfare({ moreApps }));
const secure = parts.use(await startFanfare({ moreApps, config: { tls } }));
const servers = [`http://127.0.0.1:${plain.port}`, `https://127.0.0.1:${secure.port}`];
const backendOfMt1 = parts.use(startSpecBackend(MT1, servers));
const backendOfEu = parts.use(startSpecBackend(EU, servers));
const site = parts.use(await startSpecSite(client));

const names = {
  ...Object.fromEntries(
    ['ws-mt1', 'ws-eu', 'sockjs-mt1', 'sockjs-eu'].flatMap((name) => [
      [`${name}.pusher.com:80`, plain.port],
      [`${name}.pusher.com:443`, secure.port],
    ]),
  ),
  'localhost:3000': backendOfMt1.port,
  'localhost:3001': backendOfEu.port,
};
const inFirefox = positionals.includes('firefox');
const words = positionals.filter((word) => word !== 'firefox');
const chosen = [...SETTINGS, OTHERS].filter(
  (part) => words.length === 0 || words.some((word) => part.includes(word)),
);
const startedAtMs = performance.now();
const inNode = Object.entries(NODE_PARTS).filter(
  ([part]) => client === 'fanfare-js' && (words.length === 0 || words.includes(part)),
);
// Specs of different settings share nothing, and they mostly wait.
const urls = chosen.map((part) => site.urlOf(part));
if (urls.length > 0) parts.use(await (inFirefox ? openInFirefox : openInChromium)(urls, names));
const runs = await Promise.all([
  ...chosen.map(async (part) => ({
    part,
    expected: part === OTHERS ? SPECS_OF_OTHERS : SPECS_OF_SETTING,
    results: await site.resultsOf(part),
  })),
  ...inNode.map(async ([part, { entry, specs }]) => ({
    part,
    expected: specs,
    results: await runInNode(entry, { names, folder }),
  })),
]);

for (const { part, expected, results } of runs) {
  const passed = results.filter(({ status }) => status === 'passed').length;
  console.log(`${part}: ${passed} of ${expected} specs passed`);
  if (passed !== expected || results.length !== expected) process.exitCode = 1;
  for (const { fullName, status, failedExpectations } of results) {
    if (status === 'passed') continue;
    console.log(`  ${status}: ${fullName}`);
    for (const { message } of failedExpectations) console.log(`    ${message}`);
  }
}
console.log(`${Math.round((performance.now() - startedAtMs) / 1000)} s`);
