import { describe, expect, it } from 'bun:test';
import type { TestApp } from '../../testing/servers/test-app.ts';
import { enters, startCluster, usersAt } from './cluster.ts';

describe('a server that is killed', () => {
  it('leaves no ghost: its members are gone for the others within 15 s, each reported once', async () => {
    await using servers = await startCluster(2);
    const [one, two] = servers.apps as [TestApp, TestApp];
    await using ann = await one.connect();
    await enters(one, ann, 'ann');
    const others = await Promise.all(Array.from({ length: 5 }, () => two.connect()));
    for (const [n, client] of others.entries()) await enters(two, client, `user-${n}`);
    for (const _ of others) {
      expect(await ann.hears()).toMatchObject({ event: 'pusher_internal:member_added' });
    }
    servers.servers[1]?.process.kill('SIGKILL');
    const gone: string[] = [];
    for (const _ of others) {
      const { event, data } = Object(await ann.hears());
      expect(event).toBe('pusher_internal:member_removed');
      gone.push(JSON.parse(data).user_id);
    }
    expect(gone.toSorted()).toEqual(others.map((_, n) => `user-${n}`));
    expect(await usersAt(one)).toEqual(['ann']);
    await ann.hearsNothing();
  }, 60_000);
});
