import { join } from 'node:path';
import { type CheckedOut, checkOut } from '../../../testing/servers/checked-out.ts';
import { spawnFanfare, spawnProgram } from '../../../testing/servers/fanfare.ts';
import { startRedis } from '../../../testing/servers/redis.ts';
import { type Installation, severalServers } from '../installation.ts';
import { releases } from '../releases.ts';
import { type Scene, scene, type Trial } from '../trial.ts';

const SERVERS = 2;
/** How long a server runs before the next one is replaced, as the upgrade page says. Milliseconds. */
const BETWEEN_MIN_MS = 3000;
const BETWEEN_MAX_MS = 8000;
/** As long as an operator lets clients move. */
const DRAIN_SECONDS = 3;

interface Version {
  readonly name: string;
  /** The clone that it runs from; `undefined` for this one. */
  readonly clone: CheckedOut | undefined;
}

/** Servers of which each has a version. */
interface Upgradable extends Installation {
  /** The releases, the oldest first, and the present version. */
  readonly versions: readonly Version[];
  /** Stops a server, and starts another version in its place. */
  replace(at: number, version: Version): Promise<void>;
}

async function oldServers(webhooksPort: number): Promise<Upgradable> {
  await using parts = new AsyncDisposableStack();
  const versions: Version[] = (await releases()).map(({ version, commit }) => ({
    name: version,
    clone: parts.use(checkOut(commit)),
  }));
  versions.push({ name: 'the present version', clone: undefined });
  const [oldest] = versions;
  const running = Array.from({ length: SERVERS }, () => oldest);
  const redis = parts.use(await startRedis());
  const installation = await severalServers(parts.move(), {
    engines: running.map(() => ({ type: 'redis', url: redis.url })),
    webhooksPort,
    settings: { config: { drainSeconds: DRAIN_SECONDS } },
    spawn: (at) => {
      const { clone } = running[at] ?? {};
      if (clone === undefined) return spawnFanfare;
      const program = ['sh', join(clone.folder, 'bin/fanfare')];
      return (args, directory, environment = {}) =>
        spawnProgram([...program, ...args], directory, environment);
    },
  });
  return Object.assign(installation, {
    versions,
    async replace(at: number, version: Version) {
      await installation.stop(at);
      running[at] = version;
      await installation.start(at);
    },
  });
}

/** Replaces all servers by each later version, one after the other, and then by each earlier one. */
async function upgrading(trial: Trial<Upgradable>): Promise<void> {
  const { installation, random } = trial;
  const { versions } = installation;
  const way = [...versions.slice(1), ...versions.slice(0, -1).toReversed()];
  for (const version of way) {
    for (const at of installation.ports.keys()) {
      await trial.pass(random.between(BETWEEN_MIN_MS, BETWEEN_MAX_MS));
      trial.fault('stop', { at, ms: DRAIN_SECONDS * 1000 });
      await installation.replace(at, version);
      trial.did(`replaced by ${version.name}`);
    }
    await trial.settles();
  }
}

export const upgradeScenes: readonly Scene[] = [
  scene({
    name: 'upgrade: from each release to the next, and back',
    section: 'upgrades',
    needs: ['redis-server', 'git'],
    start: oldServers,
    act: upgrading,
  }),
];
