import { loadavg } from 'node:os';
import type { EvidenceResult } from '../../../testing/evidence/rows.ts';
import type { AppAddress } from '../../bench-app.ts';
import { signedTarget } from '../../load/trigger-request.ts';
import { countOf } from '../../options.ts';
import { align, median, ratio, tenths, whole } from '../../report.ts';
import { startFanfare } from '../../servers.ts';
import { pinned, scaleCommand } from '../command.ts';
import { startCrowd } from '../crowd/crowd-calls.ts';
import type { Gathered } from '../crowd/idle-crowd.ts';
import { ROOM, userOf } from '../crowd/seating.ts';
import { sizeFor } from '../size.ts';

/** `npm run bench -- storm`: all connections of a server are reset at once, and all clients come back. */

const REST_SECONDS = 3;
/** Requests for lists of users at the same time. */
const ASKING_MAX = 20;

interface StormFigures {
  readonly connections: number;
  readonly why: string;
  readonly load: number;
  /** Everybody's first coming. */
  readonly first: Gathered;
  readonly storms: readonly Gathered[];
}

export const storm = scaleCommand({
  name: 'storm',
  about: `All clients of a server are reset at once and all come back, ${ROOM} to each presence channel: seconds until the last one is
subscribed, and until each has the list of exactly the members of its channel. Compared with clients who come to an empty
server. 400 at a time are on their way: more would wait for timers of the kernel.`,
  options: {
    connections: { type: 'string', default: '10000' },
    storms: { type: 'string', default: '3' },
  },
  help: [
    ['--connections N', '(10000) fewer if open files or memory do not suffice'],
    ['--storms N', '(3)'],
  ],
  async measure(values, record) {
    const asked = countOf(values.connections, { option: '--connections', min: ROOM });
    const storms = countOf(values.storms, { option: '--storms', min: 1 });
    const figures = await measure(asked, storms);
    console.log(`\n${print(figures)}`);
    record(evidenceOf(figures));
    return { figures };
  },
});

async function measure(asked: number, times: number): Promise<StormFigures> {
  const pinning = pinned();
  const { connections: allowed, openFiles, why } = sizeFor(asked);
  const connections = allowed - (allowed % ROOM);
  console.log(`${whole(connections)} connections: ${why}`);

  await using server = await startFanfare(pinning.server, {
    channels: { maxConnections: connections * 2, maxSubscriptions: connections * 2 },
  });
  await using crowd = startCrowd(pinning.load);
  const channels = connections / ROOM;
  await crowd.call('open', {
    app: server.app,
    seating: { kind: 'presence', channels },
    size: connections,
    openFilesMax: openFiles,
  });
  const load = loadavg()[0] ?? 0;
  const first = await crowd.call('gather', connections);
  await checkUsers(server.app, connections);
  const storms: Gathered[] = [];
  for (let number = 1; number <= times; number += 1) {
    await crowd.call('rest', { seconds: REST_SECONDS, isProbed: false });
    const back = await crowd.call('storm', null);
    console.error(`storm ${number}: ${tenths(back.seconds)} s`);
    await checkUsers(server.app, connections);
    storms.push(back);
  }
  return { connections, why, load, first, storms };
}

/** Throws unless the server names exactly the members of each channel. */
async function checkUsers(app: AppAddress, connections: number): Promise<void> {
  const channels = Array.from({ length: connections / ROOM }, (_, channel) => channel);
  for (let at = 0; at < channels.length; at += ASKING_MAX) {
    await Promise.all(
      channels.slice(at, at + ASKING_MAX).map(async (channel) => {
        const name = `presence-bench-${String(channel).padStart(6, '0')}`;
        const target = signedTarget(app, 'GET', `/channels/${name}/users`);
        const answer = await fetch(`http://${app.host}:${app.port}${target}`);
        const { users } = (await answer.json()) as { readonly users: readonly { id: string }[] };
        const found = users.map(({ id }) => id).toSorted();
        const expected = Array.from({ length: ROOM }, (_, seat) => userOf(channel * ROOM + seat));
        if (found.join() !== expected.toSorted().join()) {
          throw new Error(`${name} has the users ${found.join()}`);
        }
      }),
    );
  }
}

function print({ connections, first, storms }: StormFigures): string {
  const rate = (seconds: number) => whole(connections / seconds);
  const row = (name: string, { seconds, presentSeconds, loopP99Ms }: Gathered) => [
    name,
    seconds.toFixed(2),
    (presentSeconds ?? Number.NaN).toFixed(2),
    rate(seconds),
    tenths(loopP99Ms),
  ];
  const against = median(storms.map(({ seconds }) => seconds / first.seconds));
  return [
    'Seconds until the last one is subscribed, and until every list of members is right; loop: how long a frame of another',
    'client waits, meanwhile',
    ...align([
      ['', 'subscribed s', 'present s', 'new/s', 'loop p99 ms'],
      row('first', first),
      ...storms.map((each, at) => row(`storm ${at + 1}`, each)),
    ]),
    `a storm takes ${ratio(against)} times as long as the first coming`,
  ].join('\n');
}

function evidenceOf({ connections, first, storms, load }: StormFigures): EvidenceResult {
  const slowest = (figure: (storm: Gathered) => number) =>
    `${Math.max(...storms.map(figure)).toFixed(2)} s`;
  return {
    section: 'scale',
    name: 'storm: all connections reset at once, and back',
    command: `npm run bench -- storm --connections ${connections}`,
    result: 'measured',
    figures: {
      connections,
      storms: storms.length,
      'last one subscribed after': slowest(({ seconds }) => seconds),
      'every list of members right after': slowest((each) => each.presentSeconds ?? Number.NaN),
      'first coming': `${first.seconds.toFixed(2)} s`,
      'load average before': load.toFixed(1),
    },
  };
}
