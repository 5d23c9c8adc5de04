import { describe, expect, it } from 'bun:test';
import { type BodyEnd, ResponseBody } from './response-body.ts';

/** A server whose answer the test writes. */
function serve() {
  const ended = Promise.withResolvers<BodyEnd>();
  const body = new ResponseBody(ended.resolve);
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    fetch: () => new Response(body.stream),
  });
  return {
    body,
    ended: ended.promise,
    get: (signal?: AbortSignal) => fetch(server.url, signal && { signal }),
    [Symbol.dispose]: () => void server.stop(true),
  };
}

describe('the body of a response', () => {
  it.each([
    ['one text', ['x'.repeat(500_000)]],
    ['characters of two units, wherever it is cut', ['x', '😀'.repeat(60_000)]],
    ['a long text between short ones', ['a\n', 'b'.repeat(100_000), 'c\n', 'd\n']],
    ['nothing', []],
  ])('arrives in full and in order: %s', async (_, texts) => {
    using server = serve();
    for (const text of texts) server.body.write(text);
    expect(server.body.waitingBytes).toBe(Buffer.byteLength(texts.join('')));
    server.body.end();
    expect(await (await server.get()).text()).toBe(texts.join(''));
    expect(await server.ended).toBe('taken');
    expect(server.body.waitingBytes).toBe(0);
  });

  it('goes on with what is written later', async () => {
    using server = serve();
    server.body.write('first\n');
    const response = await server.get();
    const parts: string[] = [];
    for await (const part of response.body ?? []) {
      parts.push(new TextDecoder().decode(part));
      if (parts.length === 1) server.body.write('second\n');
      else server.body.end();
    }
    expect(parts).toEqual(['first\n', 'second\n']);
  });

  it('is lost with what waits if the connection is broken off, by either side', async () => {
    // More than the kernel takes.
    const text = 'x'.repeat(30_000_000);
    for (const side of ['client', 'server']) {
      using server = serve();
      server.body.write(text);
      const abort = new AbortController();
      const response = await server.get(abort.signal);
      if (side === 'client') abort.abort();
      else server.body.break();
      expect(await server.ended).toBe('lost');
      expect(server.body.waitingBytes).toBe(0);
      await expect(response.text()).rejects.toThrow();
    }
  });
});
