import { expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { startAppBackend } from '../../testing/servers/app-backend.ts';
import { untrusted } from '../../testing/servers/certificates.ts';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { clientInNode, subscribed } from './client-process.ts';
import { LibraryProcess } from './library-process.ts';

/** Both official libraries in Node, connected through the server. */

it('carries every kind of channel between a backend and clients in Node', async () => {
  await using server = await startFanfare({ app: { clientEvents: true } });
  using backend = startAppBackend(server);
  using library = LibraryProcess.open('node', server);
  const channels = [
    'news',
    'private-orders',
    'private-encrypted-diary',
    'presence-room',
    'cache-scores',
  ];
  await library.trigger('cache-scores', 'score', { home: 1 });
  using ann = clientInNode(optionsFor(server, { backend, user: 'ann' }), channels);
  await subscribed(ann, channels.slice(0, -1));

  for (const channel of channels.slice(0, -1)) {
    await library.trigger(channel, 'event', { to: channel });
    expect(await ann.printed.first(([name]) => name === channel)).toEqual([
      channel,
      'event',
      { to: channel },
    ]);
  }

  using bob = clientInNode(optionsFor(server, { backend, user: 'bob' }), channels);
  expect(await bob.printed.first(([, event]) => event === 'score')).toEqual([
    'cache-scores',
    'score',
    { home: 1 },
  ]);
  expect(await ann.printed.first(([, event]) => event === 'pusher:member_added')).toEqual([
    'presence-room',
    'pusher:member_added',
    { id: 'bob', info: { name: 'BOB' } },
  ]);
  ann.send(['presence-room', 'client-wave', { from: 'ann' }]);
  expect(await bob.printed.first(([, event]) => event === 'client-wave')).toEqual([
    'presence-room',
    'client-wave',
    { from: 'ann' },
  ]);
});

it('serves backends and clients in Node over TLS', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-tls-'));
  await using _directory = {
    [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true }),
  };
  const certFile = join(directory, 'cert.pem');
  const keyFile = join(directory, 'key.pem');
  writeFileSync(certFile, untrusted.cert);
  writeFileSync(keyFile, untrusted.key);
  await using server = await startFanfare({ config: { tls: { certFile, keyFile } } });
  const trusting = { NODE_EXTRA_CA_CERTS: certFile };

  using client = clientInNode(
    optionsFor(server, { wssPort: server.port, forceTLS: true }),
    ['news'],
    trusting,
  );
  await subscribed(client, ['news']);
  using library = LibraryProcess.open('node', server, { useTLS: true }, trusting);
  await library.trigger('news', 'headline', 'in secret');

  expect(await client.printed.next()).toEqual(['news', 'headline', 'in secret']);
});
