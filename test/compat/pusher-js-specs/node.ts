import { join } from 'node:path';
import type { Names } from '../../../testing/servers/socks.ts';
import { bundleSpecs } from './bundle.ts';
import type { SpecResult } from './page.ts';

/** Parts of the specs that run in Node, by entry, and how many specs pusher-js 8.6.0 has there. */
export const NODE_PARTS: Readonly<
  Record<string, { readonly entry: string; readonly specs: number }>
> = {
  node: { entry: 'integration/index.node.js', specs: 84 },
  units: { entry: 'units', specs: 145 },
};

/**
 * Runs specs with `fanfare-js` in a process of Node; pusher-js itself would need packages of its own there. The names of the
 * hosted service lead to the servers of the test.
 */
export async function runInNode(
  entry: string,
  { names, folder }: { readonly names: Names; readonly folder: string },
): Promise<readonly SpecResult[]> {
  const specs = await bundleSpecs(entry, { place: 'node', client: 'fanfare-js' });
  const file = join(folder, `${entry.replaceAll('/', '-')}.cjs`);
  const results = `${file}.json`;
  await Bun.write(file, `${prelude(names, results)}\n${specs}\nvoid jasmine.getEnv().execute();`);
  const node = Bun.spawn(['node', file], {
    env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' },
    stdout: 'ignore',
    stderr: 'inherit',
  });
  await node.exited;
  return await Bun.file(results).json();
}

/** What Node lacks: Jasmine, requests of the specs themselves, and the names. */
function prelude(names: Names, results: string): string {
  const jasmine = join(import.meta.dir, '../../../node_modules/jasmine-core/lib/jasmine-core.js');
  return `
    const { installGlobals } = require(${JSON.stringify(jasmine)});
    installGlobals();
    const specNames = ${JSON.stringify(names)};
    const ordinaryFetch = fetch;
    globalThis.specUrl = (text) => {
      const url = new URL(text);
      const port = url.port || (/s:$/.test(url.protocol) ? '443' : '80');
      const at = specNames[url.hostname + ':' + port];
      if (at === undefined) return text;
      url.hostname = '127.0.0.1';
      url.port = at;
      return url.href;
    };
    globalThis.fetch = (url, options) => ordinaryFetch(specUrl(url), options);
    globalThis.XMLHttpRequest = class {
      open(method, url) { this.url = url; }
      send() { void fetch(this.url); }
    };
    const specResults = [];
    jasmine.getEnv().configure({ random: false });
    jasmine.getEnv().addReporter({
      specDone({ fullName, status, failedExpectations }) {
        if (status !== 'excluded') specResults.push({ fullName, status, failedExpectations });
      },
      jasmineDone() {
        require('node:fs').writeFileSync(${JSON.stringify(results)}, JSON.stringify(specResults));
      },
    });`;
}
