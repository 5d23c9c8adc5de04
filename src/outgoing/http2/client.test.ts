import { describe, expect, it } from 'bun:test';
import { alwaysAnswer, clientOnFakes, inShort, paths } from './client.fixture.ts';
import { ANSWER_BYTES_MAX } from './client.ts';
import { ERROR, SETTING } from './frames/protocol.ts';
import { plainField } from './hpack/header-field.ts';
import { fieldOf } from './request.ts';

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
    const { network, posted, settled } = clientOnFakes();
    const results = await posted('/a');
    const line = network.last;
    line.answerInParts(1, [{ ':status': '103' }, { ':status': '200', a: 'b' }, 'body', { t: '1' }]);
    await settled();
    expect(inShort(results)).toEqual(['200']);
    expect(results[0]).toMatchObject({ fields: [':status', '200', 'a', 'b'] });
  });

  it('keeps only the start of a long answer, and resets the stream', async () => {
    const { network, posted, settled } = clientOnFakes();
    const results = await posted('/a');
    const parts = [{ ':status': '500' }, 'x'.repeat(3000), 'y'.repeat(3000)];
    network.last.answerInParts(1, parts, false);
    await settled();
    const [result] = results;
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
    const { posted, network } = clientOnFakes();
    const results = await posted(`/${'a'.repeat(20_000)}`);
    expect(inShort(results)).toEqual(['unprocessed too-large']);
    expect(network.attempts).toEqual([]);
  });
});

describe('the limit of a peer', () => {
  it('is unknown before its settings, so nothing is sent', async () => {
    const { network, posted, settled } = clientOnFakes();
    network.onOpen = () => undefined;
    await posted('/a', '/b');
    expect(network.last.requests).toEqual([]);
    expect(network.last.settings.get(SETTING.enablePush)).toBe(0);
    network.last.sendSettings({ maxConcurrentStreams: 1 });
    await settled();
    expect(network.last.requests).toHaveLength(1);
  });

  it('is respected when it grows and when it shrinks', async () => {
    const { network, posted, settled } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 1 });
    const results = await posted(...paths(30));
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
    const { network, posted, settled } = clientOnFakes({ connectionsMax: 3 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 5 });
    const results = await posted(...paths(40));
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
    const { network, posted } = clientOnFakes({
      connectionsMax: 1,
      streamsPerConnectionMax: 7,
    });
    await posted(...paths(10));
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

describe('the timeout of a request', () => {
  it('ends its waiting: it is unprocessed', async () => {
    const { network, posted, timers } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 1 });
    const results = await posted('/a', '/b');
    network.last.pongs = true;
    await timers.advance(10_500);
    expect(inShort(results)).toEqual(['unknown silence', 'unprocessed not-in-time']);
  });

  it('does not affect others that are answered', async () => {
    const { network, posted, timers } = clientOnFakes();
    const slow = await posted('/slow');
    for (let round = 0; round < 11; round++) {
      const quick = await posted('/quick');
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
    const { network, posted } = clientOnFakes({ waitingMax: 3, connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 2 });
    await posted('/a');
    const results = await posted(...paths(6));
    expect(inShort(results)).toEqual([
      ...['-', '-', '-', '-'],
      ...['unprocessed too-many-waiting', 'unprocessed too-many-waiting'],
    ]);
  });

  it('leaves nothing open or unsettled when it is closed', async () => {
    const { client, network, posted } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = (line) => line.sendSettings({ maxConcurrentStreams: 1 });
    const results = await posted('/a', '/b');
    await client[Symbol.asyncDispose]();
    const late = await posted('/c');
    expect(inShort([...results, ...late])).toEqual([
      'unknown closed',
      'unprocessed closed',
      'unprocessed closed',
    ]);
    expect(network.last.isClosed).toBe(true);
    expect(client.state).toEqual({ connections: 0, inFlight: 0, waiting: 0 });
  });
});
