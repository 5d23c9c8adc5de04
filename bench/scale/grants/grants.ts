import { loadavg } from 'node:os';
import type { EvidenceResult } from '../../../testing/evidence/rows.ts';
import { inRounds } from '../../in-rounds.ts';
import type { Pinning } from '../../machine/cores.ts';
import { processorSeconds } from '../../machine/processor-time.ts';
import { settledBytes } from '../../machine/settled-bytes.ts';
import { countOf, UsageError } from '../../options.ts';
import { align, median, ratio, spread, tenths, whole } from '../../report.ts';
import { startFanfare } from '../../servers.ts';
import { pinned, scaleCommand } from '../command.ts';
import { sizeFor } from '../size.ts';
import { type By, GrantsClients } from './grants-clients.ts';

/** `npm run bench -- grants`: subscriptions by a grant beside subscriptions by a signature. */

const WAYS: readonly By[] = ['signature', 'grant'];

/** Of one round. */
const CONNECTIONS = 100;
const CHANNELS_EACH = 40;
/** So that code is compiled. */
const ROUNDS_BEFORE = 2;

/**
 * Connected before memory is measured, so that what connections do not have each is there: compiled code, tables, room of the
 * heap, and all the patterns that the server shares between grants.
 */
const BEFORE = 5_000;

const RATIO_MAX = 1.1;
const BYTES_MAX = 700;

const APP = { grants: {}, limits: { subscriptionsPerSecond: 0 } };

interface GrantsFigures {
  /** Processor time of the server for one subscription, in each round. Microseconds. */
  readonly usEach: Readonly<Record<By, readonly number[]>>;
  /** Memory of a further connection that is signed in and silent. */
  readonly bytesEach: Readonly<Record<By, readonly number[]>>;
  readonly load: number;
}

export const grants = scaleCommand({
  name: 'grants',
  about: `Subscriptions that a grant covers beside those with a signature: processor time of one server for each, in turns, and memory
of a further connection that is signed in with a grant of three patterns beside one that is signed in without. Both are silent, and
${whole(BEFORE)} of their kind are there before.`,
  options: {
    rounds: { type: 'string', default: '16' },
    connections: { type: 'string', default: '13000' },
    runs: { type: 'string', default: '3' },
  },
  help: [
    ['--rounds N', 'rounds of subscriptions of each kind (16)'],
    ['--connections N', 'for memory (13000)'],
    ['--runs N', 'measurements of memory of each (3)'],
  ],
  async measure(values, record) {
    const rounds = countOf(values.rounds, { option: '--rounds', min: 1 });
    const asked = countOf(values.connections, { option: '--connections', min: 2 * BEFORE });
    const { connections, why } = sizeFor(asked);
    if (connections < 2 * BEFORE) throw new UsageError(`${whole(connections)} are too few: ${why}`);
    const runs = countOf(values.runs, { option: '--runs', min: 1 });
    const pinning = pinned();
    const load = loadavg()[0] ?? 0;
    const usEach = await measureTime(pinning, rounds);
    const bytesEach = await inRounds(runs, WAYS, (by) => measureBytes(pinning, connections, by));
    const figures = { usEach, bytesEach, load };
    console.log(`\n${print(figures)}`);
    record(evidenceOf(figures));
    return { figures, isHeld: ratioOf(figures) <= RATIO_MAX && moreBytes(figures) <= BYTES_MAX };
  },
});

async function measureTime(pinning: Pinning, rounds: number): Promise<GrantsFigures['usEach']> {
  await using server = await startFanfare(pinning.server, { app: APP });
  const { app, pid } = server;
  const once = async (by: By) => {
    using clients = new GrantsClients(app);
    await clients.connect(CONNECTIONS, by);
    const before = processorSeconds(pid);
    const subscriptions = await clients.subscribe(CHANNELS_EACH, by);
    return ((processorSeconds(pid) - before) / subscriptions) * 1e6;
  };
  await inRounds(ROUNDS_BEFORE, WAYS, once);
  return await inRounds(rounds, WAYS, once);
}

async function measureBytes(pinning: Pinning, connections: number, by: By): Promise<number> {
  await using server = await startFanfare(pinning.server, { app: APP });
  const { app, pid } = server;
  using clients = new GrantsClients(app);
  await clients.connect(BEFORE, by);
  const before = await settledBytes([pid]);
  const count = connections - BEFORE;
  await clients.connect(count, by);
  const after = await settledBytes([pid]);
  return ((after.processes[0] ?? 0) - (before.processes[0] ?? 0)) / count;
}

function ratiosOf({ usEach: { grant, signature } }: GrantsFigures): readonly number[] {
  return grant.map((us, round) => us / (signature[round] ?? us));
}

const ratioOf = (figures: GrantsFigures) => median(ratiosOf(figures));

const moreBytes = ({ bytesEach: { grant, signature } }: GrantsFigures) =>
  median(grant) - median(signature);

function print(figures: GrantsFigures): string {
  const { usEach, bytesEach } = figures;
  const ratios = ratiosOf(figures);
  const row = (name: string, by: By) => [
    name,
    tenths(median(usEach[by])),
    spread(usEach[by], tenths),
    whole(median(bytesEach[by])),
    spread(bytesEach[by], whole),
  ];
  return [
    ...align([
      ['', 'µs of a subscription', 'spread', 'idle bytes', 'spread'],
      row('by signature', 'signature'),
      row('by grant', 'grant'),
    ]),
    `processor time: ${ratio(median(ratios))} times (${spread(ratios, ratio)}); at most ${RATIO_MAX}`,
    `memory: ${whole(moreBytes(figures))} bytes more with a grant of three patterns; at most ${BYTES_MAX}`,
  ].join('\n');
}

function evidenceOf(figures: GrantsFigures): EvidenceResult {
  const { usEach, bytesEach, load } = figures;
  return {
    section: 'scale',
    name: 'grants: subscriptions by a grant beside those by a signature',
    command: 'npm run bench -- grants',
    result: 'measured',
    figures: {
      'processor time of a subscription': `${tenths(median(usEach.grant))} µs (${tenths(median(usEach.signature))} µs by signature)`,
      'ratio of processor time': ratio(ratioOf(figures)),
      'idle memory of a connection': `${whole(median(bytesEach.grant))} B (${whole(median(bytesEach.signature))} B without a grant)`,
      'load average before': load.toFixed(1),
    },
  };
}
