import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untrusted } from '../../../testing/servers/certificates.ts';
import { startFanfare } from '../../../testing/servers/fanfare.ts';
import { launchChromium } from '../../browser/chromium.ts';
import { type SpecApp, startSpecBackend } from './backend.ts';
import { OTHERS, runSpecs, SETTINGS, startSpecSite } from './page.ts';

/**
 * Runs the integration specs of pusher-js, unchanged, in Chromium against this server: `npm run test:pusher-js`. With
 * words such as `xhr_streaming`, only the settings that contain one of them. The specs connect to the hosted service:
 * the browser resolves its names to two servers, one of them with TLS.
 */

/** How many specs pusher-js 8.6.0 has for each setting, three of which only disconnect, and how many others. */
const SPECS_OF_SETTING = 34;
const SPECS_OF_OTHERS = 24;

const MT1: SpecApp = { id: 'mt1', key: 'c49a449b916bb4246729', secret: 'secret of mt1' };
const EU: SpecApp = { id: 'eu', key: 'cb7d5e50f5669e5c9ae6', secret: 'secret of eu' };

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
const site = parts.use(await startSpecSite());

const names = ['ws-mt1', 'ws-eu', 'sockjs-mt1', 'sockjs-eu'].map((name) => `${name}.pusher.com`);
const rules = [
  ...names.map((name) => `MAP ${name}:80 127.0.0.1:${plain.port}`),
  ...names.map((name) => `MAP ${name}:443 127.0.0.1:${secure.port}`),
  `MAP localhost:3000 127.0.0.1:${backendOfMt1.port}`,
  `MAP localhost:3001 127.0.0.1:${backendOfEu.port}`,
  'MAP *.pusher.com ~NOTFOUND',
];
const browser = await launchChromium([`--host-resolver-rules=${rules.join()}`]);
parts.defer(() => browser.close());

const words = process.argv.slice(2);
const chosen = [...SETTINGS, OTHERS].filter(
  (part) => words.length === 0 || words.some((word) => part.includes(word)),
);
const startedAtMs = performance.now();
// Specs of different settings share nothing, and they mostly wait.
const runs = await Promise.all(
  chosen.map(async (part) => ({ part, results: await runSpecs(browser, site.url, part) })),
);

for (const { part, results } of runs) {
  const expected = part === OTHERS ? SPECS_OF_OTHERS : SPECS_OF_SETTING;
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
