import { describe, expect, it } from 'bun:test';
import { filled, snippetsIn } from './snippets.ts';

const { client, backend } = snippetsIn(
  await Bun.file(new URL('snippets.txt', import.meta.url)).text(),
);
const facts = {
  appId: 'shop',
  key: 'the-key',
  secret: 'the-secret',
  host: 'events.example',
  port: 6001,
  tls: true,
  channel: 'my-channel',
  event: '{host}$&',
};

describe('the snippets', () => {
  it('are for these libraries', () => {
    expect([...client.keys()]).toEqual(['pusher-js', 'Laravel Echo', 'Swift', 'Kotlin', 'Flutter']);
    expect([...backend.keys()]).toEqual(['Node', 'PHP', 'Python', 'Ruby', 'Go', 'curl']);
  });

  it('name the key, the host and the port, with and without TLS', () => {
    for (const tls of [true, false]) {
      for (const code of [...client.values(), ...backend.values()]) {
        const text = filled(code, { ...facts, tls, event: 'my-event' });
        for (const part of ['the-key', 'events.example', '6001', 'my-channel', 'my-event']) {
          expect(text).toContain(part);
        }
        expect(text).not.toMatch(/\{\w+\}|== |\n$/);
      }
    }
    expect(filled(client.get('Kotlin') ?? '', facts)).toContain(
      '.setWssPort(6001).setUseTLS(true)',
    );
    expect(filled(backend.get('Python') ?? '', { ...facts, tls: false })).toContain('ssl=False');
  });

  it('contain what they are filled with as it is', () => {
    expect(filled(client.get('Swift') ?? '', facts)).toContain('bind(eventName: "{host}$&")');
  });
});
