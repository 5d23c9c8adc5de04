import { describe, expect, it } from 'bun:test';
import { alwaysAnswer, clientOnFakes, inShort, paths } from './client.fixture.ts';
import { ERROR } from './frames/protocol.ts';

describe('a connection', () => {
  it('with GOAWAY finishes its requests; the others go over another', async () => {
    const { network, posted, settled, events } = clientOnFakes();
    const results = await posted('/a', '/b', '/c');
    const [first] = network.lines;
    first?.goAway(3, 0, '{"reason":"Shutdown"}');
    await settled();
    first?.answer(1);
    first?.answer(3);
    await settled();
    expect(network.lines).toHaveLength(1);
    expect(inShort(results)).toEqual(['200', '200', '-']);
    expect(first?.isClosed).toBe(true);
    expect(events).toContainEqual({
      event: 'connection-leaving',
      why: 'GOAWAY (0, {"reason":"Shutdown"})',
    });
  });

  it('with GOAWAY in two steps loses nothing', async () => {
    const { network, posted, settled, timers } = clientOnFakes();
    network.onOpen = (line) => line.sendSettings();
    const results = await posted(...paths(10));
    const [first] = network.lines;
    first?.answer(1);
    await settled();
    first?.goAway(2 ** 31 - 1);
    await settled();
    const more = await posted(...paths(5, '/later-'));
    expect(network.lines).toHaveLength(2);
    first?.goAway(9);
    await settled();
    expect(network.last.requests.map(({ fields }) => fields[':path'])).toEqual([
      ...paths(5, '/later-'),
      ...['/5', '/6', '/7', '/8', '/9'],
    ]);
    for (const id of [3, 5, 7, 9]) first?.answer(id);
    network.last.answerAll();
    await settled();
    expect(new Set(inShort([...results, ...more]))).toEqual(new Set(['200']));
    await timers.advance(1);
  });

  it('that ends leaves sent requests unknown, and unsent ones to another', async () => {
    const { network, posted, settled, timers } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 2 });
    const results = await posted('/a', '/b', '/c', '/d');
    network.last.answer(1);
    await settled();
    network.onOpen = alwaysAnswer;
    network.last.cut();
    await timers.advance(500);
    expect(inShort(results)).toEqual([
      '200',
      'unknown connection-lost',
      'unknown connection-lost',
      '200',
    ]);
    expect(results[1]).toMatchObject({ detail: 'ECONNRESET' });
  });

  it('that ends within an answer has answered', async () => {
    const { network, posted, settled } = clientOnFakes();
    const results = await posted('/a');
    network.last.answerInParts(1, [{ ':status': '503' }, 'half'], false);
    await settled();
    network.last.cut();
    await settled();
    expect(inShort(results)).toEqual(['503']);
  });

  it('that is silent is pinged, and given up without an answer', async () => {
    const { network, posted, post, timers } = clientOnFakes({ requestTimeoutMs: 60_000 });
    const results = await posted('/a');
    const dead = network.last;
    await timers.advance(5250);
    expect(dead.controlFrames).toContain('ping');
    expect(dead.isClosed).toBe(false);
    network.onOpen = alwaysAnswer;
    const later = post('/b');
    await timers.advance(5500);
    expect(dead.isClosed).toBe(true);
    expect(results).toEqual([{ result: 'unknown', why: 'silence', detail: 'no answer to a ping' }]);
    // It was not sent over the silent one.
    expect(inShort(later)).toEqual(['200']);
    expect(network.lines).toHaveLength(2);
  });

  it('that dies delays only the requests sent before that was known', async () => {
    const { network, posted, post, settled, timers } = clientOnFakes({
      requestTimeoutMs: 15_000,
      connectionsMax: 2,
    });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 1 });
    const proof = await posted('/proof');
    const dead = network.last;
    dead.answer(1);
    await settled();
    network.onOpen = alwaysAnswer;
    const [first, ...others] = [
      post('/first'),
      post('/second'),
      ...paths(5).map((path) => post(path)),
    ];
    await timers.advance(16_000);
    expect(inShort(proof)).toEqual(['200']);
    expect(inShort(first)).toEqual(['unknown silence']);
    expect(inShort(others.flat())).toEqual(others.map(() => '200'));
    expect(dead.requests.map(({ fields }) => fields[':path'])).toEqual(['/proof', '/first']);
  });

  it('whose first request hangs delays no others, although it answers pings', async () => {
    const { network, post, timers } = clientOnFakes({ requestTimeoutMs: 15_000 });
    network.onOpen = (line) => {
      line.sendSettings({ maxConcurrentStreams: 1 });
      line.pongs = true;
      line.onRequest = ({ id, fields }) => {
        if (fields[':path'] !== '/hangs') line.answer(id);
      };
    };
    const results = post('/hangs', ...paths(20));
    await timers.advance(5_500);
    expect(inShort(results)).toEqual(['-', ...Array<string>(20).fill('200')]);
    await timers.advance(10_000);
    expect(inShort(results)[0]).toBe('unknown silence');
  });

  it('that has hung gets requests again once it answers', async () => {
    const { network, posted, settled, timers } = clientOnFakes({
      requestTimeoutMs: 60_000,
      connectionsMax: 1,
    });
    const slow = await posted('/slow');
    network.last.pongs = true;
    await timers.advance(6_000);
    const waiting = await posted('/waits');
    expect(network.last.requests).toHaveLength(1);
    network.last.onRequest = ({ id }) => network.last.answer(id);
    network.last.answer(1);
    await settled();
    expect(inShort([...slow, ...waiting])).toEqual(['200', '200']);
    expect(network.lines).toHaveLength(1);
  });

  it('that hangs is followed by others, one at a time, up to the limit', async () => {
    const { network, post, timers } = clientOnFakes({
      requestTimeoutMs: 60_000,
      connectionsMax: 3,
    });
    network.onOpen = (line) => {
      line.sendSettings({ maxConcurrentStreams: 1 });
      line.pongs = true;
    };
    post(...paths(10));
    const opened: number[] = [];
    for (let round = 0; round < 5; round++) {
      await timers.advance(5_500);
      opened.push(network.lines.length);
    }
    expect(opened).toEqual([2, 3, 3, 3, 3]);
  });

  it('that is only slow is kept', async () => {
    const { network, posted, settled, timers } = clientOnFakes({ requestTimeoutMs: 60_000 });
    const results = await posted('/a');
    network.last.pongs = true;
    await timers.advance(30_000);
    expect(network.last.controlFrames.filter((word) => word === 'ping').length).toBeGreaterThan(2);
    network.last.answer(1);
    await settled();
    expect(inShort(results)).toEqual(['200']);
  });

  it('that is idle is pinged once a minute, and closed in the end', async () => {
    const { network, posted, timers } = clientOnFakes({ idleCloseMs: 200_000 });
    network.onOpen = alwaysAnswer;
    await posted('/a');
    const line = network.last;
    line.pongs = true;
    await timers.advance(198_000);
    expect(line.controlFrames.filter((word) => word === 'ping')).toHaveLength(3);
    expect(line.isClosed).toBe(false);
    await timers.advance(10_000);
    expect(line.isClosed).toBe(true);
    expect(line.controlFrames.at(-1)).toBe('goaway 0');
    const results = await posted('/b');
    expect(inShort(results)).toEqual(['200']);
    expect(network.lines).toHaveLength(2);
  });

  it('that answers only pings is replaced', async () => {
    const { network, posted, post, timers } = clientOnFakes({ requestTimeoutMs: 1000 });
    const results = await posted('/a', '/b', '/c');
    await timers.advance(1500);
    expect(inShort(results)).toEqual(['unknown silence', 'unknown silence', 'unknown silence']);
    expect(network.last.resets.map(([, code]) => code)).toEqual([8, 8, 8]);
    network.onOpen = alwaysAnswer;
    const later = post('/d');
    await timers.advance(500);
    expect(inShort(later)).toEqual(['200']);
    expect(network.lines).toHaveLength(2);
  });

  it('that is full gets no more until it has drained', async () => {
    const { network, posted, settled } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = alwaysAnswer;
    await posted('/a');
    const line = network.last;
    line.isFull = true;
    const first = await posted('/b');
    const second = await posted('/c');
    expect([...inShort(first), ...inShort(second)]).toEqual(['200', '-']);
    line.drain();
    await settled();
    expect(inShort(second)).toEqual(['200']);
  });

  it('is replaced on request', async () => {
    const { client, network, posted, settled } = clientOnFakes();
    network.onOpen = alwaysAnswer;
    await posted('/a');
    network.last.onRequest = () => undefined;
    const underWay = await posted('/b');
    client.replaceConnections('the token was renewed too often');
    const later = await posted('/c');
    const [first] = network.lines;
    expect(inShort(later)).toEqual(['200']);
    expect(network.lines).toHaveLength(2);
    first?.answer(3);
    await settled();
    expect(inShort(underWay)).toEqual(['200']);
    expect(first?.isClosed).toBe(true);
  });
});

describe('an unreachable origin', () => {
  it('is reported after two attempts, and tried again with growing pauses', async () => {
    const { network, posted, post, timers, events } = clientOnFakes({ requestTimeoutMs: 60_000 });
    network.failure = { why: 'ECONNREFUSED' };
    const results = await posted('/a', '/b');
    expect(inShort(results)).toEqual(['-', '-']);
    await timers.advance(500);
    expect(results[0]).toEqual({
      result: 'unprocessed',
      why: 'unreachable',
      detail: 'ECONNREFUSED',
    });
    expect(events).toEqual([{ event: 'unreachable', why: 'ECONNREFUSED' }]);

    for (let seconds = 0; seconds < 60; seconds++) {
      post('/c');
      await timers.advance(1000);
    }
    expect(network.attempts.length).toBeLessThan(20);
    network.failure = undefined;
    network.onOpen = alwaysAnswer;
    const later = post('/d');
    await timers.advance(11_000);
    expect(inShort(later)).toEqual(['200']);
    expect(events.at(-1)).toEqual({ event: 'reached' });
    expect(events).toHaveLength(2);
  });

  it('causes growing pauses if it accepts connections and ends each', async () => {
    const { network, post, timers } = clientOnFakes();
    network.onOpen = (line) => {
      line.sendSettings();
      line.onRequest = () => line.goAway(0, ERROR.enhanceYourCalm);
    };
    const results = post('/a');
    await timers.advance(9000);
    expect(inShort(results)).toEqual(['unprocessed turned-away']);
    expect(network.lines).toHaveLength(5);
  });

  it('is given up if its settings never come', async () => {
    const { network, post, timers } = clientOnFakes({ requestTimeoutMs: 60_000 });
    network.onOpen = () => undefined;
    const results = post('/a');
    await timers.advance(21_000);
    expect(inShort(results)).toEqual(['unprocessed unreachable']);
    expect(network.lines.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });

  it('is reported at once if its addresses may not be used', async () => {
    const { network, posted } = clientOnFakes({
      findAddresses: async () => ({ ok: false, allowed: false, why: '127.0.0.1 is loopback' }),
    });
    const results = await posted('/a');
    expect(results).toEqual([
      { result: 'unprocessed', why: 'not-allowed', detail: '127.0.0.1 is loopback' },
    ]);
    expect(network.attempts).toEqual([]);
  });

  it('is reported at once if the peer does not support HTTP/2', async () => {
    const { network, posted } = clientOnFakes();
    network.failure = { why: 'the peer speaks no HTTP/2', noHttp2: true };
    const results = await posted('/a');
    expect(inShort(results)).toEqual(['unprocessed no-http2']);
  });

  it('is tried at all its addresses, in a different order each time', async () => {
    const { network, post, timers } = clientOnFakes({
      findAddresses: async () => ({
        ok: true,
        addresses: ['192.0.2.1', '2001:db8::1', '192.0.2.2'],
      }),
    });
    network.failure = { why: 'EHOSTUNREACH' };
    post('/a');
    await timers.advance(500);
    expect(network.attempts.map(({ address }) => address)).toEqual([
      ...['192.0.2.1', '192.0.2.2', '2001:db8::1'],
      ...['192.0.2.2', '192.0.2.1', '2001:db8::1'],
    ]);
  });
});
