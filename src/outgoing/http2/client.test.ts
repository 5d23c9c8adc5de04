import { describe, expect, it } from 'bun:test';
import { clientOnFakes, inShort, paths } from './client.fixture.ts';
import { ANSWER_BYTES_MAX } from './client.ts';
import { ERROR, SETTING } from './frames/frames.ts';
import { plainField } from './hpack/header-field.ts';
import type { FakeLine } from './network.fixture.ts';
import { fieldOf } from './request.ts';

const alwaysAnswer = (line: FakeLine) => {
  line.sendSettings();
  line.onRequest = ({ id }) => line.answer(id);
};

describe('a request', () => {
  it('is sent whole, and settles with the answer', async () => {
    const { client, network, settled } = clientOnFakes({
      origin: 'https://push.example.test:8443',
    });
    const body = Buffer.from('hello');
    const sent = client.send({ path: '/3/device/ab', fields: [plainField('x', 'y')], body });
    await settled();
    const line = network.last;
    expect(line.target).toMatchObject({
      address: '192.0.2.1',
      port: 8443,
      serverName: 'push.example.test',
    });
    expect(line.request('/3/device/ab')).toEqual({
      id: 1,
      fields: {
        ':method': 'POST',
        ':scheme': 'https',
        ':authority': 'push.example.test:8443',
        ':path': '/3/device/ab',
        x: 'y',
        'content-length': '5',
      },
      body,
      isComplete: true,
    });
    line.answer(1, 410, { 'apns-id': 'eabe', 'retry-after': '5' }, '{"reason":"Unregistered"}');
    const result = await sent;
    if (result.result !== 'answered') throw new Error(result.result);
    expect(result.status).toBe(410);
    expect(fieldOf(result.fields, 'retry-after')).toBe('5');
    expect(fieldOf(result.fields, 'date')).toBeUndefined();
    expect(result.body.toString()).toBe('{"reason":"Unregistered"}');
  });

  it('needs no body', async () => {
    const { client, network, settled } = clientOnFakes();
    network.onOpen = alwaysAnswer;
    const sent = client.send({ path: '/', fields: [], body: new Uint8Array() });
    await settled();
    expect(await sent).toMatchObject({ result: 'answered', status: 200 });
  });

  it('ignores informational answers and trailers', async () => {
    const { network, post, settled } = clientOnFakes();
    const results = post('/a');
    await settled();
    const line = network.last;
    line.answerInParts(1, [{ ':status': '103' }, { ':status': '200', a: 'b' }, 'body', { t: '1' }]);
    await settled();
    expect(inShort(results)).toEqual(['200']);
    expect(results[0]).toMatchObject({ fields: [':status', '200', 'a', 'b'] });
  });

  it('keeps only the start of a long answer, and resets the stream', async () => {
    const { network, post, settled } = clientOnFakes();
    const [result] = await (async () => {
      const results = post('/a');
      await settled();
      network.last.answerInParts(
        1,
        [{ ':status': '500' }, 'x'.repeat(3000), 'y'.repeat(3000)],
        false,
      );
      await settled();
      return results;
    })();
    if (result?.result !== 'answered') throw new Error('no answer');
    expect(result.body.length).toBe(ANSWER_BYTES_MAX);
    expect(network.last.resets).toEqual([[1, ERROR.cancel]]);
  });

  it('is split to fit the windows and the frame size of the peer', async () => {
    const { client, network, settled } = clientOnFakes();
    network.onOpen = (line) => line.sendSettings({ initialWindowSize: 10 });
    const body = Buffer.alloc(25, 'x');
    const sent = client.send({ path: '/a', fields: [], body });
    const second = client.send({ path: '/b', fields: [], body: Buffer.from('short') });
    await settled();
    const line = network.last;
    expect(line.requests.map((request) => request.body.length)).toEqual([10]);
    line.windowUpdate(1, 10);
    await settled();
    expect(line.requests.map((request) => request.body.length)).toEqual([20]);
    line.sendSettings({ initialWindowSize: 15 });
    await settled();
    expect(line.requests.map((request) => request.body.length)).toEqual([25, 5]);
    line.answerAll();
    expect(await sent).toMatchObject({ result: 'answered' });
    expect(await second).toMatchObject({ result: 'answered' });
  });

  it('is refused if its header does not fit into a frame', async () => {
    const { post, network, settled } = clientOnFakes();
    const results = post(`/${'a'.repeat(20_000)}`);
    await settled();
    expect(inShort(results)).toEqual(['unprocessed too-large']);
    expect(network.attempts).toEqual([]);
  });
});

describe('the limit of a peer', () => {
  it('is unknown before its settings, so nothing is sent', async () => {
    const { network, post, settled } = clientOnFakes();
    network.onOpen = () => undefined;
    post('/a', '/b');
    await settled();
    expect(network.last.requests).toEqual([]);
    expect(network.last.settings.get(SETTING.enablePush)).toBe(0);
    network.last.sendSettings({ maxConcurrentStreams: 1 });
    await settled();
    expect(network.last.requests).toHaveLength(1);
  });

  it('is respected when it grows and when it shrinks', async () => {
    const { network, post, settled } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 1 });
    const results = post(...paths(30));
    await settled();
    const line = network.last;
    expect(line.requests).toHaveLength(1);
    line.sendSettings({ maxConcurrentStreams: 10 });
    await settled();
    expect(line.requests).toHaveLength(10);
    line.sendSettings({ maxConcurrentStreams: 2 });
    for (const { id } of line.requests.splice(0, 8)) line.answer(id);
    await settled();
    expect(line.requests).toHaveLength(2);
    for (let round = 0; round < 20; round++) {
      line.answerAll();
      await settled();
      expect(line.requests.length).toBeLessThanOrEqual(2);
    }
    expect(new Set(inShort(results))).toEqual(new Set(['200']));
  });

  it('is raised by further connections, each opened once the one before has answered', async () => {
    const { network, post, settled } = clientOnFakes({ connectionsMax: 3 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 5 });
    const results = post(...paths(40));
    await settled();
    expect(network.lines.map(({ requests }) => requests.length)).toEqual([5]);
    network.last.answer(1);
    await settled();
    expect(network.lines.map(({ requests }) => requests.length)).toEqual([6, 5]);
    network.last.answer(1);
    await settled();
    network.last.answer(1);
    await settled();
    // Three is the limit.
    expect(network.lines).toHaveLength(3);
    for (let round = 0; round < 10; round++) {
      for (const line of network.lines) {
        for (const { id } of line.requests.splice(0)) if (id > 1) line.answer(id);
      }
      await settled();
    }
    expect(new Set(inShort(results))).toEqual(new Set(['200']));
  });

  it('never exceeds our own limit', async () => {
    const { network, post, settled } = clientOnFakes({
      connectionsMax: 1,
      streamsPerConnectionMax: 7,
    });
    post(...paths(10));
    await settled();
    expect(network.last.requests).toHaveLength(7);
  });

  it('is found by trial if it does not announce one: refused requests are sent again', async () => {
    const { network, post, settled, timers } = clientOnFakes({ connectionsMax: 1 });
    let open = 0;
    let turnedAway = 0;
    network.onOpen = (line) => {
      line.sendSettings();
      line.onRequest = ({ id }) => {
        if (open >= 10) {
          turnedAway++;
          return line.reset(id, ERROR.refusedStream);
        }
        open++;
        setImmediate(() => {
          open--;
          line.answer(id);
        });
      };
    };
    const results = post(...paths(300));
    await timers.advance(1000);
    expect(new Set(inShort(results))).toEqual(new Set(['200']));
    expect(turnedAway).toBeLessThan(150);
    await settled();
  });

  it('causes pauses if it refuses even one request, and finally a failure', async () => {
    const { network, post, timers, settled } = clientOnFakes({ connectionsMax: 1 });
    const atMs: number[] = [];
    const startMs = timers.now();
    network.onOpen = (line) => {
      line.sendSettings();
      line.onRequest = ({ id }) => {
        atMs.push(timers.now() - startMs);
        line.reset(id, ERROR.refusedStream);
      };
    };
    const results = post('/a');
    await timers.advance(5000);
    await settled();
    expect(inShort(results)).toEqual(['unprocessed turned-away']);
    expect(atMs).toHaveLength(5);
    expect(atMs.at(-1)).toBeGreaterThan(1000);
  });
});

describe('a connection', () => {
  it('with GOAWAY finishes its requests; the others go over another', async () => {
    const { network, post, settled, events } = clientOnFakes();
    const results = post('/a', '/b', '/c');
    await settled();
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
    const { network, post, settled, timers } = clientOnFakes();
    network.onOpen = (line) => line.sendSettings();
    const results = post(...paths(10));
    await settled();
    const [first] = network.lines;
    first?.answer(1);
    await settled();
    first?.goAway(2 ** 31 - 1);
    await settled();
    const more = post(...paths(5, '/later-'));
    await settled();
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
    const { network, post, settled, timers } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 2 });
    const results = post('/a', '/b', '/c', '/d');
    await settled();
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
    const { network, post, settled } = clientOnFakes();
    const results = post('/a');
    await settled();
    network.last.answerInParts(1, [{ ':status': '503' }, 'half'], false);
    await settled();
    network.last.cut();
    await settled();
    expect(inShort(results)).toEqual(['503']);
  });

  it('that is silent is pinged, and given up without an answer', async () => {
    const { network, post, settled, timers } = clientOnFakes({ requestTimeoutMs: 60_000 });
    const results = post('/a');
    await settled();
    const dead = network.last;
    await timers.advance(5250);
    expect(dead.said).toContain('ping');
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
    const { network, post, settled, timers } = clientOnFakes({
      requestTimeoutMs: 15_000,
      connectionsMax: 2,
    });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 1 });
    const proof = post('/proof');
    await settled();
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
    const { network, post, settled, timers } = clientOnFakes({
      requestTimeoutMs: 60_000,
      connectionsMax: 1,
    });
    const slow = post('/slow');
    await settled();
    network.last.pongs = true;
    await timers.advance(6_000);
    const waiting = post('/waits');
    await settled();
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
    const { network, post, settled, timers } = clientOnFakes({ requestTimeoutMs: 60_000 });
    const results = post('/a');
    await settled();
    network.last.pongs = true;
    await timers.advance(30_000);
    expect(network.last.said.filter((word) => word === 'ping').length).toBeGreaterThan(2);
    network.last.answer(1);
    await settled();
    expect(inShort(results)).toEqual(['200']);
  });

  it('that is idle is pinged once a minute, and closed in the end', async () => {
    const { network, post, settled, timers } = clientOnFakes({ idleCloseMs: 200_000 });
    network.onOpen = alwaysAnswer;
    post('/a');
    await settled();
    const line = network.last;
    line.pongs = true;
    await timers.advance(198_000);
    expect(line.said.filter((word) => word === 'ping')).toHaveLength(3);
    expect(line.isClosed).toBe(false);
    await timers.advance(10_000);
    expect(line.isClosed).toBe(true);
    expect(line.said.at(-1)).toBe('goaway 0');
    const results = post('/b');
    await settled();
    expect(inShort(results)).toEqual(['200']);
    expect(network.lines).toHaveLength(2);
  });

  it('that answers only pings is replaced', async () => {
    const { network, post, settled, timers } = clientOnFakes({ requestTimeoutMs: 1000 });
    const results = post('/a', '/b', '/c');
    await settled();
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
    const { network, post, settled } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = alwaysAnswer;
    post('/a');
    await settled();
    const line = network.last;
    line.isFull = true;
    const first = post('/b');
    await settled();
    const second = post('/c');
    await settled();
    expect([...inShort(first), ...inShort(second)]).toEqual(['200', '-']);
    line.drain();
    await settled();
    expect(inShort(second)).toEqual(['200']);
  });

  it('is replaced on request', async () => {
    const { client, network, post, settled } = clientOnFakes();
    network.onOpen = alwaysAnswer;
    post('/a');
    await settled();
    network.last.onRequest = () => undefined;
    const underWay = post('/b');
    await settled();
    client.replaceConnections('the token was renewed too often');
    const later = post('/c');
    await settled();
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
    const { network, post, timers, events, settled } = clientOnFakes({ requestTimeoutMs: 60_000 });
    network.failure = { why: 'ECONNREFUSED' };
    const results = post('/a', '/b');
    await settled();
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
    const { network, post, settled } = clientOnFakes({
      findAddresses: async () => ({ ok: false, allowed: false, why: '127.0.0.1 is loopback' }),
    });
    const results = post('/a');
    await settled();
    expect(results).toEqual([
      { result: 'unprocessed', why: 'not-allowed', detail: '127.0.0.1 is loopback' },
    ]);
    expect(network.attempts).toEqual([]);
  });

  it('is reported at once if the peer speaks no HTTP/2', async () => {
    const { network, post, settled } = clientOnFakes();
    network.failure = { why: 'the peer speaks no HTTP/2', noHttp2: true };
    const results = post('/a');
    await settled();
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

describe('the timeout of a request', () => {
  it('ends its waiting: it is unprocessed', async () => {
    const { network, post, timers, settled } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 1 });
    const results = post('/a', '/b');
    await settled();
    network.last.pongs = true;
    await timers.advance(10_500);
    expect(inShort(results)).toEqual(['unknown silence', 'unprocessed not-in-time']);
  });

  it('does not affect others that are answered', async () => {
    const { network, post, timers, settled } = clientOnFakes();
    const slow = post('/slow');
    await settled();
    for (let round = 0; round < 11; round++) {
      const quick = post('/quick');
      await settled();
      network.last.answer(network.last.request('/quick').id);
      await timers.advance(1000);
      expect(inShort(quick)).toEqual(['200']);
    }
    expect(inShort(slow)).toEqual(['unknown no-answer']);
    expect(network.lines).toHaveLength(1);
  });
});

describe('a client', () => {
  it('limits how many requests wait', async () => {
    const { network, post, settled } = clientOnFakes({ waitingMax: 3, connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 2 });
    post('/a');
    await settled();
    const results = post(...paths(6));
    await settled();
    expect(inShort(results)).toEqual([
      ...['-', '-', '-', '-'],
      ...['unprocessed too-many-waiting', 'unprocessed too-many-waiting'],
    ]);
  });

  it('leaves nothing open or unsettled when it is closed', async () => {
    const { client, network, post, settled } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 1 });
    const results = post('/a', '/b');
    await settled();
    await client[Symbol.asyncDispose]();
    const late = post('/c');
    await settled();
    expect(inShort([...results, ...late])).toEqual([
      'unknown closed',
      'unprocessed closed',
      'unprocessed closed',
    ]);
    expect(network.last.isClosed).toBe(true);
    expect(client.state).toEqual({ connections: 0, inFlight: 0, waiting: 0 });
  });
});

describe('untrusted requests', () => {
  const untrusted = { owner: {}, isTrusted: false };
  /** A peer that never answers untrusted requests, and all others at once. */
  const answerKnown = (line: FakeLine) => {
    line.sendSettings({ maxConcurrentStreams: 100 });
    line.pongs = true;
    line.onRequest = ({ id, fields }) => {
      if (!fields[':path']?.startsWith('/new')) line.answer(id);
    };
  };

  it('leave a quarter of each connection to trusted ones, up to the limit of connections', async () => {
    const { network, post, postAs, settled } = clientOnFakes({ connectionsMax: 2 });
    network.onOpen = answerKnown;
    const first = post('/warm');
    await settled();
    postAs(untrusted, ...paths(500, '/new'));
    await settled();
    const known = post(...paths(25));
    await settled();
    expect(inShort([...first, ...known])).toEqual(Array(26).fill('200'));
    const mostOfLine = network.lines.map(
      ({ requests }) => requests.filter(({ fields }) => fields[':path']?.startsWith('/new')).length,
    );
    expect(mostOfLine.every((count) => count <= 75)).toBe(true);
  });

  it('that are never answered do not make a connection look dead to trusted ones', async () => {
    const { network, post, postAs, settled, timers } = clientOnFakes({
      connectionsMax: 1,
      requestTimeoutMs: 30_000,
    });
    network.onOpen = answerKnown;
    const first = post('/warm');
    await settled();
    postAs(untrusted, '/new');
    await timers.advance(12_000);
    const second = post('/later');
    await settled();
    expect(inShort([...first, ...second])).toEqual(['200', '200']);
  });

  it('take turns with trusted ones while all wait', async () => {
    const { network, post, postAs, settled } = clientOnFakes({ connectionsMax: 1 });
    const order: string[] = [];
    network.onOpen = (line) => {
      line.sendSettings({ maxConcurrentStreams: 4 });
      line.onRequest = ({ id, fields }) => {
        order.push(fields[':path'] ?? '');
        line.answer(id);
      };
    };
    postAs(untrusted, ...paths(20, '/new'));
    const known = post(...paths(5, '/known'));
    await settled();
    expect(inShort(known)).toEqual(Array(5).fill('200'));
    expect(Math.max(...paths(5, '/known').map((path) => order.indexOf(path)))).toBeLessThan(12);
  });
});

describe('senders that share a client', () => {
  it('take turns, however much one of them sends', async () => {
    const { network, postAs, settled } = clientOnFakes({ connectionsMax: 1 });
    const order: string[] = [];
    network.onOpen = (line) => {
      line.sendSettings({ maxConcurrentStreams: 1 });
      line.onRequest = ({ id, fields }) => {
        order.push(fields[':path'] ?? '');
        line.answer(id);
      };
    };
    postAs({ owner: {}, isTrusted: true }, ...paths(100, '/much'));
    postAs({ owner: {}, isTrusted: true }, ...paths(3, '/little'));
    await settled();
    expect(Math.max(...paths(3, '/little').map((path) => order.indexOf(path)))).toBeLessThan(8);
  });
});
