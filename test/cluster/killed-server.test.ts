import { expect, it } from 'bun:test';
import { startCluster } from './cluster.ts';
import { Scene } from './scene.ts';

it('a server that is killed leaves no ghost: its users are reported as gone once, to people and webhooks, and may return', async () => {
  await using cluster = await startCluster(2);
  await using scene = await Scene.open(cluster, 3);
  await scene.reports(['occupied', ...scene.people.map(({ userId }) => `+${userId}`)]);
  const gone = scene.peopleAt(1);
  cluster.servers[1]?.process.kill('SIGKILL');
  for (const person of gone) await scene.goes(person);
  const noticed = cluster.servers[0]?.logged(/"Another server does not answer"/);
  // Their lease ends after 10 s.
  await scene.settles();
  await scene.reports(gone.map(({ userId }) => `-${userId}`));
  for (const { userId } of gone) await scene.comes(0, userId);
  await scene.settles();
  await scene.reports(gone.map(({ userId }) => `+${userId}`));
  for (const { view } of scene.peopleAt(0).slice(0, 3)) {
    for (const { userId } of gone) {
      // As a member, and as a watched user.
      const changes = view.changes.filter((change) => change.endsWith(userId)).slice(-4);
      expect(changes.toSorted()).toEqual([`+${userId}`, `+${userId}`, `-${userId}`, `-${userId}`]);
    }
  }
  await scene.keeps();
  expect(JSON.parse((await noticed) ?? '')).toMatchObject({ level: 'warn' });
}, 90_000);
