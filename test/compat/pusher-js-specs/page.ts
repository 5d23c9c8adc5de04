import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { bundleSpecs } from './bundle.ts';

/** The settings for which the specs connect to a server. */
export const SETTINGS = ['ws', 'xhr_streaming', 'xhr_polling'].flatMap((transport) => [
  transport,
  `${transport} with TLS`,
]);

/** All other specs. They reach no server, or only the backend. */
export const OTHERS = 'others';

/** How the names of a setting's specs begin. Other suites use the settings with mocks. */
const beginnings = SETTINGS.map((setting) => {
  const [transport] = setting.split(' ');
  const rest = `(integration) with ${transport}, forceTLS=${setting.endsWith('TLS')} `;
  return [`Pusher ${rest}`, `Cluster Configuration ${rest}`];
});

/** Much longer than a setting takes whose specs all pass. */
const RUN_MAX_MS = 20 * 60_000;

export interface SpecResult {
  readonly fullName: string;
  readonly status: string;
  readonly failedExpectations: readonly { readonly message: string }[];
}

/** Serves the page of the specs. */
export async function startSpecSite(): Promise<Disposable & { readonly url: string }> {
  const jasmine = new URL('jasmine-core/jasmine.js', import.meta.resolve('jasmine-core'));
  const script = { headers: { 'content-type': 'text/javascript; charset=utf-8' } };
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/jasmine.js': new Response(Bun.file(fileURLToPath(jasmine))),
      '/specs.js': new Response(await bundleSpecs(), script),
      '/': new Response(
        `<!doctype html>
<title>pusher-js</title>
<script src="/jasmine.js"></script>
<script src="/specs.js"></script>`,
        { headers: { 'content-type': 'text/html; charset=utf-8' } },
      ),
    },
    fetch: () => new Response('', { status: 404 }),
  });
  return {
    url: `http://localhost:${http.port}/`,
    [Symbol.dispose]() {
      http.stop(true);
    },
  };
}

/** Runs the specs of one setting, or the others, in a new profile. */
export async function runSpecs(
  browser: Browser,
  url: string,
  part: string,
): Promise<readonly SpecResult[]> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  const results: SpecResult[] = [];
  const { promise: finished, resolve, reject } = Promise.withResolvers<void>();
  await page.exposeFunction('report', (result: SpecResult) => void results.push(result));
  await page.exposeFunction('finish', () => resolve());
  page.on('pageerror', reject);
  page.on('crash', () => reject(new Error(`The page of ${part} crashed`)));
  const timer = setTimeout(() => reject(new Error(`The specs of ${part} never end`)), RUN_MAX_MS);
  await page.goto(url);
  await page.evaluate(
    `((part, parts, beginnings) => {
      const isOwn = (name) => {
        const index = beginnings.findIndex((some) => some.some((text) => name.startsWith(text)));
        return (index < 0 ? ${JSON.stringify(OTHERS)} : parts[index]) === part;
      };
      // These prepare the library for the specs of every setting.
      const isShared = (name) => name.endsWith(' the global config');
      const env = jasmine.getEnv();
      env.configure({
        // As in the package: later specs use the connections of earlier ones.
        random: false,
        specFilter: (spec) => isOwn(spec.getFullName()) || isShared(spec.getFullName()),
      });
      env.addReporter({
        specDone({ fullName, status, failedExpectations }) {
          if (isOwn(fullName)) report({ fullName, status, failedExpectations });
        },
        jasmineDone: finish,
      });
      void env.execute();
    })(${[part, SETTINGS, beginnings].map((value) => JSON.stringify(value)).join()})`,
  );
  await finished;
  clearTimeout(timer);
  await context.close();
  return results.filter(({ status }) => status !== 'excluded');
}
