import { fileURLToPath } from 'node:url';
import { bundleSpecs, type SpecClient } from './bundle.ts';

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

/** Where the pages of the specs are. */
export interface SpecSite extends Disposable {
  /** The page that runs the specs of one setting, or the others, as soon as it is open. */
  urlOf(part: string): string;
  /** Settles when that page has run its specs. */
  resultsOf(part: string): Promise<readonly SpecResult[]>;
}

export async function startSpecSite(client: SpecClient): Promise<SpecSite> {
  const jasmine = new URL('jasmine-core/jasmine.js', import.meta.resolve('jasmine-core'));
  const runs = new Map(
    [...SETTINGS, OTHERS].map((part) => [part, Promise.withResolvers<readonly SpecResult[]>()]),
  );
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/jasmine.js': new Response(Bun.file(fileURLToPath(jasmine))),
      '/specs.js': new Response(
        await bundleSpecs('integration/index.web.js', { place: 'web', client }),
        {
          headers: { 'content-type': 'text/javascript; charset=utf-8' },
        },
      ),
      '/': new Response(PAGE, { headers: { 'content-type': 'text/html; charset=utf-8' } }),
      '/results': async (request) => {
        const part = new URL(request.url).searchParams.get('part') ?? '';
        runs.get(part)?.resolve((await request.json()) as SpecResult[]);
        return new Response();
      },
    },
    fetch: () => new Response('', { status: 404 }),
  });
  return {
    urlOf: (part) => `http://127.0.0.1:${http.port}/?part=${encodeURIComponent(part)}`,
    async resultsOf(part) {
      const timer = setTimeout(
        () => runs.get(part)?.reject(new Error(`The specs of ${part} never ended`)),
        RUN_MAX_MS,
      );
      const results = await runs.get(part)?.promise;
      clearTimeout(timer);
      return results ?? [];
    },
    [Symbol.dispose]() {
      http.stop(true);
    },
  };
}

const PAGE = `<!doctype html>
<title>pusher-js</title>
<script src="/jasmine.js"></script>
<script src="/specs.js"></script>
<script>
  const part = new URLSearchParams(location.search).get('part');
  const parts = ${JSON.stringify(SETTINGS)};
  const beginnings = ${JSON.stringify(beginnings)};
  function isOwn(name) {
    const index = beginnings.findIndex((some) => some.some((text) => name.startsWith(text)));
    return (index < 0 ? '${OTHERS}' : parts[index]) === part;
  }
  // These prepare the library for the specs of every setting.
  const isShared = (name) => name.endsWith(' the global config');
  const results = [];
  const env = jasmine.getEnv();
  env.configure({
    // As in the package: later specs use the connections of earlier ones.
    random: false,
    specFilter: (spec) => isOwn(spec.getFullName()) || isShared(spec.getFullName()),
  });
  env.addReporter({
    specDone({ fullName, status, failedExpectations }) {
      if (isOwn(fullName) && status !== 'excluded') {
        results.push({ fullName, status, failedExpectations });
      }
    },
    async jasmineDone({ failedExpectations }) {
      if (failedExpectations.length > 0) {
        results.push({ fullName: 'All specs', status: 'failed', failedExpectations });
      }
      await fetch('/results' + location.search, { method: 'POST', body: JSON.stringify(results) });
    },
  });
  void env.execute();
</script>`;
