/**
 * What the clients of `bench/http2/compare.ts` send to, as a process of its own: either a bare Bun server, or
 * the fake of Apple's service, which looks at every notification. Prints its origin and its certificate as JSON.
 *
 *     sh scripts/bun.sh bench/http2/sink.ts bun|fake
 */
import { startFakeApns } from '../../src/fake-gateways/apns/fake-apns.ts';
import { makeSelfSigned } from '../../src/fake-gateways/self-signed.ts';

/** Notifications that the fake keeps: few, so that they stay out of the figures. */
const ENTRIES_MAX = 100;

async function startFake(): Promise<{ readonly origin: string; readonly ca: string | undefined }> {
  return startFakeApns({ entriesMax: ENTRIES_MAX });
}

function startBare(): { readonly origin: string; readonly ca: string } {
  const certificate = makeSelfSigned(['127.0.0.1'], Date.now());
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    http2: true,
    idleTimeout: 0,
    tls: certificate,
    async fetch(request) {
      await request.text();
      return new Response(null, { headers: { 'apns-id': 'eabeae54-14a8-11e5-b60b-1697f925ec7b' } });
    },
  });
  return { origin: `https://127.0.0.1:${server.port}`, ca: certificate.cert };
}

const { origin, ca } = process.argv[2] === 'fake' ? await startFake() : startBare();
console.log(JSON.stringify({ origin, ca }));
