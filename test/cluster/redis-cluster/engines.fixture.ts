import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock } from '../../../src/channels/hub.fixture.ts';
import type { Audience } from '../../../src/channels/ports.ts';
import { createRedisEngine } from '../../../src/engines/redis/create-engine.ts';
import type { RedisEngine } from '../../../src/engines/redis/engine.ts';
import type { Away } from '../../../src/engines/redis/link/redis-server.ts';
import type { Log } from '../../../src/runtime/ports.ts';
import { partsOfLoop } from '../../contracts/loop-parts.ts';
import type { RedisLoop } from '../../contracts/redis-loops.ts';
import { app, Node } from '../../contracts/redis-node.ts';

/** A loop over a real Redis Cluster, by the real clock. */
export interface ClusterNodeLoop extends AsyncDisposable {
  readonly node: Node;
  readonly engine: RedisEngine;
  /** Places that are away, each with the reason. */
  readonly away: ReadonlyMap<string, Away>;
  /** Lines of its log. */
  readonly lines: readonly string[];
  readonly counted: (id: 'engineDataLost' | 'engineLeasesLost') => number;
}

/** Opens a loop. What its clients may not be sent is added to `problems`. */
export async function openLoop(
  number: number,
  url: string,
  problems: unknown[],
): Promise<ClusterNodeLoop> {
  const node = new Node(number, problems);
  const lines: string[] = [];
  const note = (level: string) => (text: string, fields?: object) =>
    void lines.push(`${level} ${text} ${JSON.stringify(fields)}`);
  const log: Log = {
    debug: () => undefined,
    info: note('info'),
    warn: note('warn'),
    error: note('error'),
  };
  const parts = partsOfLoop(new FakeClock(), [], undefined, { serverName: `server-${number}` });
  const away = new Map<string, Away>();
  const engine = createRedisEngine({
    ...parts,
    broadcaster: { ...parts.broadcaster, audience: node as unknown as Audience },
    apps: { byId: (id) => (id === app.id ? app : undefined), byKey: () => undefined },
    allApps: () => [app],
    log,
    keyPrefix: 'fanfare:',
    urls: [url],
    onState(server, state) {
      if (state === undefined) away.delete(server);
      else away.set(server, state);
    },
  });
  node.loop = { engine } as RedisLoop;
  try {
    await engine.start();
  } catch (error) {
    await engine.close();
    throw error;
  }
  return {
    node,
    engine,
    away,
    lines,
    counted: (id) => parts.meter.snapshot().get(id)?.get('') ?? 0,
    [Symbol.asyncDispose]: () => engine.close(),
  };
}

/** The rights that the documentation gives to a user of a cluster. */
export function documentedRights(): readonly string[] {
  const text = readFileSync(join(import.meta.dir, '../../../docs/operate/scale.md'), 'utf8');
  const [, rights] = /^ACL SETUSER fanfare on >SECRET (.*)$/m.exec(text) ?? [];
  if (rights === undefined) throw new Error('docs/operate/scale.md has no user of a cluster');
  return rights.split(' ');
}
