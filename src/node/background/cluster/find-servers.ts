import { stoppingNotice } from '../../../asking/cluster-format.ts';
import { OtherServers } from '../../../asking/other-servers.ts';
import type { Config } from '../../../config/schema.ts';
import { hasOwnStore } from '../../../config/settings/own-store.ts';
import { LoopBus } from '../../../engines/redis/loop-bus.ts';
import { placesOf } from '../../../engines/redis/places.ts';
import { TableMeter } from '../../../observability/meter.ts';
import type { Log } from '../../../runtime/ports.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { openPostgres } from '../../../stores/database/postgres.ts';
import { redisLoginsOf } from '../../redis-logins.ts';
import { readRedisTls, readStoreTls } from '../../tls-files.ts';
import { differenceOf, installationOfStore, ofApps, readInstallation } from './installation.ts';

/** The servers that run on the Redis of a configuration. */
export interface FoundServers {
  readonly names: readonly string[];
  /** Servers of another installation than the configuration describes, each with the reason. */
  readonly strangers: readonly { readonly name: string; readonly why: string }[];
  /** The number of servers of older releases, which say nothing of their installation. */
  readonly silent: number;
  /** Whether the installation of the configuration is known. */
  readonly isOwnKnown: boolean;
}

/** Asks the servers what they belong to, as one of them. Rejects if Redis cannot be used. */
export async function findServers(config: Config, timeoutMs: number): Promise<FoundServers> {
  const { engine } = config;
  if (engine.type !== 'redis') throw new Error('engine.type is not "redis"');
  const node = `doctor-${crypto.randomUUID()}`;
  const bus = new LoopBus(engine.keyPrefix, ({ from, text }) => void others.receive(from, text));
  const logins = redisLoginsOf(engine);
  const [url = ''] = logins.urls;
  const tls = readRedisTls(config);
  const [first] = placesOf({
    urls: [url],
    keyPrefix: engine.keyPrefix,
    tls: () => tls,
    logins: () => logins,
    scripts: [],
    meter: new TableMeter(),
    log: SILENT,
    timers: monotonicTimers,
    startMs: timeoutMs,
  });
  if (first === undefined) throw new Error('There is no Redis server');
  const redis = await first.open({
    onAway: nothing,
    onBack: nothing,
    onGap: nothing,
    onMessage: (stream, payload) => {
      if (bus.carries(stream)) bus.receive(payload);
    },
  });
  const others = new OtherServers({
    node,
    timers: monotonicTimers,
    log: SILENT,
    send: (to, text) => bus.notify(to, text),
    answer: async () => null,
  });
  try {
    await bus.start(redis, first.place);
    const { answers } = await others.ask('here', {});
    // Otherwise they would miss us from now on.
    await bus.notify(undefined, stoppingNotice(node));
    return judged(answers, await installationOf(config));
  } finally {
    await redis.close();
  }
}

function judged(
  answers: readonly { readonly node: string; readonly answer: unknown }[],
  own: Awaited<ReturnType<typeof installationOf>>,
): FoundServers {
  const strangers: { name: string; why: string }[] = [];
  let silent = 0;
  for (const { node: name, answer } of answers) {
    const other = readInstallation(Object(answer).installation);
    const why = own && other && differenceOf(own, other);
    if (other === undefined) silent += 1;
    else if (why !== undefined) strangers.push({ name, why });
  }
  return {
    names: answers.map(({ node }) => node),
    strangers,
    silent,
    isOwnKnown: own !== undefined,
  };
}

/** What a server with this configuration would belong to. */
async function installationOf(config: Config) {
  if (hasOwnStore(config)) return ofApps(config.channels.apps ?? []);
  const { url } = config.store;
  const backend = await openPostgres(url, { tls: readStoreTls(config) }).catch(() => undefined);
  if (backend === undefined) return undefined;
  try {
    return await installationOfStore(backend);
  } finally {
    await backend.close();
  }
}

const nothing = () => undefined;
const SILENT: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
