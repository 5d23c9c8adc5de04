import { expect, it } from 'bun:test';
import { PushConnection } from '../../../testing/clients/push-requests.ts';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { Random } from '../../../testing/random.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../../testing/servers/push-server.ts';
import { restart } from '../../../testing/servers/restart.ts';
import { lostOf } from './lost.ts';
import { brokenRows, deviceTokens, openRows, publishesAfter } from './rows.ts';
import { type KnownDevice, Site } from './site.ts';

const ROUNDS = runs(2, 100);
const SITES = runs(20, 50);

/** How many answers come before the server is killed, at most. */
const ANSWERS_MAX = runs(500, 1500);

/** Turns of the loop that may pass after the last of them, so that the server is met doing anything. */
const TURNS_MAX = 40;

/** More than a round takes on a slow machine. */
const ROUND_MS = 60_000;

/** Lets sites ask until the server is killed in the middle of what it does. */
async function killWhileAsked(server: Fanfare, round: number, random: Random) {
  const sites = await Promise.all(
    Array.from({ length: SITES }, async (_, n) => {
      const own = new Random(Math.floor(random.next() * 2 ** 32));
      return new Site(`site-${round}-${n}`, own, await PushConnection.open(server));
    }),
  );
  const killAfter = Math.ceil(random.next() * ANSWERS_MAX);
  let turnsLeft = Math.floor(random.next() * TURNS_MAX);
  let answers = 0;
  let killed = false;
  const kill = () => {
    if (turnsLeft-- > 0) {
      setImmediate(kill);
      return;
    }
    killed = true;
    server.process.kill('SIGKILL');
  };
  const ends = sites.map((site) =>
    site
      .run(() => {
        answers += 1;
        if (answers === killAfter) kill();
      })
      .catch((error: unknown) => {
        if (!killed) throw error;
      }),
  );
  await Promise.all(ends);
  return { sites, answers };
}

/** Repeats what may be repeated; returns what had another answer than the first time. */
async function repeatAll(site: Site, server: Fanfare): Promise<readonly string[]> {
  await using connection = await PushConnection.open(server);
  const others: string[] = [];
  for (const publish of site.publishes) {
    if (!publish.repeatable) continue;
    // If the first answer was lost, the second request is the first that is known.
    for (let time = 0; time < 2; time++) {
      const { publishId } = await connection.requestOk(publish.request);
      publish.publishId ??= String(publishId);
      if (publishId !== publish.publishId) others.push(`publish ${publish.publishId}`);
    }
  }
  return others;
}

/** Looks at all rows for what no answer would show. */
class Rows {
  private lastPublish = 0;
  private readonly devices: KnownDevice[] = [];
  private readonly tokens = new Set<string>();

  /** What is there twice, or without its other half, or was never asked for, or is not there. */
  faults(server: Fanfare, sites: readonly Site[]): readonly string[] {
    using rows = openRows(server);
    const found = publishesAfter(rows, this.lastPublish);
    this.lastPublish = found.at(-1)?.number ?? this.lastPublish;
    const idsOf = Map.groupBy(found, ({ outline }) => markerOf(outline));
    const faults: string[] = [...brokenRows(rows)];
    for (const { marker, publishId } of sites.flatMap(({ publishes }) => publishes)) {
      const ids = idsOf.get(marker)?.map(({ id }) => id) ?? [];
      idsOf.delete(marker);
      const right = publishId === undefined ? ids.length <= 1 : ids.join() === publishId;
      if (!right) faults.push(`publish ${publishId} is there as [${ids}]`);
    }
    for (const marker of idsOf.keys()) faults.push(`nobody has sent ${marker}`);
    return [...faults, ...this.deviceFaults(new Map(deviceTokens(rows).map(entryOf)), sites)];
  }

  private *deviceFaults(tokenOf: Map<string, string>, sites: readonly Site[]): Generator<string> {
    for (const { devices, tokens } of sites) {
      this.devices.push(...devices);
      for (const token of tokens.keys()) this.tokens.add(token);
    }
    for (const { id, token } of this.devices) {
      const found = tokenOf.get(id);
      tokenOf.delete(id);
      if (found !== token) yield `device ${id} has ${found}`;
    }
    // The others were registered when the server died before it could answer.
    if (tokenOf.size > SITES * ROUNDS) yield `${tokenOf.size} devices that no site knows`;
    for (const token of tokenOf.values()) {
      if (!this.tokens.has(token)) yield `nobody has registered ${token}`;
    }
  }
}

function markerOf(outline: string): string {
  return /marker-[\w-]+/.exec(outline)?.[0] ?? outline;
}

/** The token as the site has it: of a browser's, that is the name in its endpoint. */
function entryOf({ id, token }: { readonly id: string; readonly token: string }) {
  return [id, /web:[\w-]+/.exec(token)?.[0] ?? token] as const;
}

it(
  'loses to kill -9 nothing that it has answered on the push side, and keeps nothing twice',
  async () => {
    const seed = testSeed();
    const random = new Random(seed);
    const settings = { ...instanceSettings(), limits: { publishesPerSecond: 0 } };
    let server = await startFanfare({ config: { push: pushSettings(settings) } });
    await using stop = new AsyncDisposableStack();
    stop.use(server);
    const rows = new Rows();
    const figures = { rounds: 0, answers: 0, publishes: 0, registrations: 0 };

    for (let round = 0; round < ROUNDS; round++) {
      const { sites, answers } = await killWhileAsked(server, round, random);
      const publishes = sites.flatMap((site) => site.publishes);
      figures.rounds += 1;
      figures.answers += answers;
      figures.publishes += publishes.filter(({ publishId }) => publishId !== undefined).length;
      figures.registrations += sites
        .flatMap(({ tokens }) => [...tokens.values()])
        .reduce((sum, count) => sum + count, 0);
      server = stop.use(await restart(server, 'SIGKILL'));

      const again = server;
      const lost = await Promise.all(sites.map((site) => lostOf(site, again)));
      const others = await Promise.all(sites.map((site) => repeatAll(site, again)));
      expect({
        seed,
        round,
        lost: lost.flat(),
        others: others.flat(),
        faults: rows.faults(server, sites),
      }).toEqual({ seed, round, lost: [], others: [], faults: [] });
    }

    expect(figures.answers).toBeGreaterThanOrEqual(ROUNDS);
    console.log(`kill -9 on the push side: ${JSON.stringify({ seed, ...figures })}, none lost`);
  },
  ROUNDS * ROUND_MS,
);
