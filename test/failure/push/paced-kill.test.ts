import { expect, it } from 'bun:test';
import { heldWork } from './delivery-rows.ts';
import { allAccepted, DeliverySite, newsFor, timesOf } from './delivery-site.ts';

/** More than a run takes on a slow machine. */
const LONG_MS = 120_000;
const MINUTE_MS = 60_000;

const PER_SECOND = 20;
const APNS = 140;
const WEB = 60;
const APNS_PER_PAGE = (PER_SECOND * APNS) / (APNS + WEB);

/** What may be sent ahead of its second: the page that is due, and one that is late by less than a second. */
const AHEAD = 2 * PER_SECOND;

/** In the log of a server on a machine that gives the gateway no time: it sends again what had no answer, as it must. */
const UNANSWERED = '"why":"the peer does not answer"';

/** What a gateway has answered, and when. */
interface Arrival {
  readonly address: string;
  readonly atMs: number;
}

/** A server from its start until it was killed. */
interface Life {
  readonly startMs: number;
  /** Where its arrivals begin. */
  readonly first: number;
  /** What the server before it had in flight, which is sent again at once. */
  readonly repeated: ReadonlySet<string>;
}

it(
  'loses no device of a publish with perSecond to kill -9, repeats what was in flight, and keeps the rate',
  async () => {
    let offsetMs = 0;
    const clock = () => ({ CLOCK_OFFSET_MS: String(offsetMs), CLOCK_JUMP_MS: '0' });
    await using site = await DeliverySite.start({
      crowds: [{ apns: APNS, web: WEB }],
      program: `${import.meta.dir}/../clock-server.fixture.ts`,
      environment: clock(),
      gatewayNowMs: () => Date.now() + offsetMs,
    });
    const instance = site.instance(0);
    const all = [...instance.devices.apns, ...instance.devices.web];
    const arrivals: Arrival[] = [];
    const arrived = (address: string) => arrivals.push({ address, atMs: Date.now() });
    site.apns.arrivals.listen(({ token }) => arrived(token));
    site.web.arrivals.listen(({ endpoint }) => arrived(endpoint));
    const lives: Life[] = [];
    let unanswered = 0;
    const countUnanswered = () => {
      unanswered += site.server.output.stderr.split(UNANSWERED).length - 1;
    };
    const begin = (repeated: ReadonlySet<string>) =>
      lives.push({ startMs: Date.now(), first: arrivals.length, repeated });
    /** Kills the server in the middle of what it sends, and starts it again so much later by its clock. */
    const kill = async (laterMs: number) => {
      const { arrivals: log } = site.apns;
      await log.reaches(log.count + 1.2 * APNS_PER_PAGE);
      await site.server.stop('SIGKILL');
      countUnanswered();
      const held = new Set(heldWork(site.server).devices);
      offsetMs += laterMs;
      begin(new Set(all.flatMap(({ number, address }) => (held.has(number) ? address : []))));
      await site.startAgain(clock());
    };

    for (const { script } of [site.apns, site.web]) script.latencyMs = 50;
    begin(new Set());
    const id = await site.publish(instance, { ...newsFor('apns', 'web'), perSecond: PER_SECOND });
    await kill(0);
    // As if there had been no server for as long as the whole publish takes, and longer.
    await kill(MINUTE_MS);
    expect(await site.finished(instance, id)).toMatchObject({
      platforms: {
        apns: allAccepted(instance.devices.apns),
        web: allAccepted(instance.devices.web),
      },
      reasons: [],
    });

    countUnanswered();
    const times = timesOf(arrivals.map(({ address }) => address));
    expect(all.filter(({ address }) => !times.has(address))).toEqual([]);
    const unexplained = [...times].filter(([address, count]) => {
      const kills = lives.filter(({ repeated }) => repeated.has(address)).length;
      return count > 1 + kills + unanswered;
    });
    expect(unexplained).toEqual([]);
    // A slow machine makes arrivals later, never earlier.
    for (const [place, { startMs, first, repeated }] of lives.entries()) {
      const own = arrivals.slice(first, lives[place + 1]?.first);
      const early = own.filter(({ atMs }, before) => {
        const seconds = (before - AHEAD - repeated.size) / PER_SECOND;
        return atMs < startMs + seconds * 1000;
      });
      expect({ place, early: early.length }).toEqual({ place, early: 0 });
    }
    // So much had to be left for the last server that sending it at once would have shown.
    expect(arrivals.length - (lives.at(-1)?.first ?? 0)).toBeGreaterThan(5 * PER_SECOND);
  },
  LONG_MS,
);
