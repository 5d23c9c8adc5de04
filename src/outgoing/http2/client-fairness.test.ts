import { describe, expect, it } from 'bun:test';
import { clientOnFakes, inShort, paths } from './client.fixture.ts';
import type { FakeLine } from './network.fixture.ts';

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
    const { network, posted, postAs, settled } = clientOnFakes({ connectionsMax: 2 });
    network.onOpen = answerKnown;
    const first = await posted('/warm');
    postAs(untrusted, ...paths(500, '/new'));
    await settled();
    const known = await posted(...paths(25));
    expect(inShort([...first, ...known])).toEqual(Array(26).fill('200'));
    const mostOfLine = network.lines.map(
      ({ requests }) => requests.filter(({ fields }) => fields[':path']?.startsWith('/new')).length,
    );
    expect(mostOfLine.every((count) => count <= 75)).toBe(true);
  });

  it('that are never answered do not make a connection look dead to trusted ones', async () => {
    const { network, posted, postAs, timers } = clientOnFakes({
      connectionsMax: 1,
      requestTimeoutMs: 30_000,
    });
    network.onOpen = answerKnown;
    const first = await posted('/warm');
    postAs(untrusted, '/new');
    await timers.advance(12_000);
    const second = await posted('/later');
    expect(inShort([...first, ...second])).toEqual(['200', '200']);
  });

  it('take turns with trusted ones while all wait', async () => {
    const { network, posted, postAs } = clientOnFakes({ connectionsMax: 1 });
    const order: string[] = [];
    network.onOpen = (line) => {
      line.sendSettings({ maxConcurrentStreams: 4 });
      line.onRequest = ({ id, fields }) => {
        order.push(fields[':path'] ?? '');
        line.answer(id);
      };
    };
    postAs(untrusted, ...paths(20, '/new'));
    const known = await posted(...paths(5, '/known'));
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
