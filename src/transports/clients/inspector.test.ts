import { describe, expect, it } from 'bun:test';
import { appWith } from '../../channels/hub.fixture.ts';
import { UserSessions } from '../../channels/users/user-sessions.ts';
import { ClientLibraries } from './client-libraries.ts';
import { FakeConnection } from './connection.fixture.ts';
import { ClientConnections } from './connections.ts';
import { Inspector } from './inspector.ts';

const app = appWith({ id: 'shop' });
const other = appWith({ id: 'other' });

function scene() {
  const connections = new ClientConnections();
  const inspector = new Inspector({
    connections,
    sessions: new UserSessions(),
    libraries: new ClientLibraries(),
    clock: { now: () => 1_800_000_000_000 },
    monotonic: { now: () => 5_000 },
  });
  let made = 0;
  const add = (count: number, of = app, address = 1) =>
    Array.from({ length: count }, () => {
      const connection = new FakeConnection({
        id: `${++made}.7`,
        app: of,
        address,
        heardAtMs: 2_000,
      });
      connections.add(connection);
      return connection;
    });
  return { connections, inspector, add };
}

describe('the inspector', () => {
  it('finds all connections of an app page by page, although others come and go', () => {
    const { connections, inspector, add } = scene();
    const all = add(10);
    add(3, other);
    const first = inspector.find(app, { limit: 4 });
    expect(first?.connections.map(({ socketId }) => socketId)).toEqual([
      '1.7',
      '2.7',
      '3.7',
      '4.7',
    ]);
    expect(first?.connections[0]).toMatchObject({
      address: '0.0.0.1',
      heardAtMs: 1_799_999_997_000,
      library: undefined,
      channels: 0,
    });
    // One that was shown, and one that was not.
    for (const gone of [all[0], all[5]]) connections.remove(gone as FakeConnection);
    add(1);
    const second = inspector.find(app, { limit: 100, after: first?.next });
    expect(second?.connections.map(({ socketId }) => socketId)).toEqual([
      '5.7',
      '7.7',
      '8.7',
      '9.7',
      '10.7',
      '14.7',
    ]);
    expect(second?.next).toBeUndefined();
  });

  it('looks at 2,000 connections in one turn, whatever it finds', () => {
    const { inspector, add } = scene();
    add(5_000, other);
    const [wanted] = add(1);
    let page = inspector.find(app, { limit: 100 });
    for (const _ of [1, 2]) {
      expect(page?.connections).toEqual([]);
      expect(page?.next).toBeNumber();
      page = inspector.find(app, { limit: 100, after: page?.next });
    }
    expect(page?.connections).toMatchObject([{ socketId: wanted?.socketId }]);
  });

  it('finds by address', () => {
    const { inspector, add } = scene();
    add(3);
    const [there] = add(1, app, 0x7f000001);
    const found = inspector.find(app, { limit: 100, address: '127.0.0.1' });
    expect(found?.connections).toMatchObject([{ socketId: there?.socketId, address: '127.0.0.1' }]);
    expect(inspector.find(app, { limit: 100, address: 'nonsense' })?.connections).toEqual([]);
  });

  it('remembers 16 unfinished walks', () => {
    const { inspector, add } = scene();
    add(10);
    const first = inspector.find(app, { limit: 1 });
    for (let n = 0; n < 16; n++) inspector.find(app, { limit: 1 });
    expect(inspector.find(app, { limit: 1, after: first?.next })).toBeUndefined();
  });

  it('shows and ends only connections of the app', () => {
    const { inspector, add } = scene();
    const [mine] = add(1);
    const [theirs] = add(1, other);
    expect(inspector.details(app, '1.7')).toMatchObject({ socketId: '1.7', channelNames: [] });
    for (const id of ['2.7', '1.8', 'x', '']) {
      expect(inspector.details(app, id)).toBeUndefined();
      expect(inspector.end(app, id)).toBe(false);
    }
    expect(theirs?.isOpen).toBe(true);
    expect(inspector.end(app, '1.7')).toBe(true);
    expect(mine?.sent.at(-1)).toStartWith('closed with 4009');
  });
});
