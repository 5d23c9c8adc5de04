import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EvidenceResult } from '../../../testing/evidence/rows.ts';
import { untrusted } from '../../../testing/servers/certificates.ts';
import type { Pinning } from '../../machine/cores.ts';
import { processorSeconds } from '../../machine/processor-time.ts';
import { settledBytes } from '../../machine/settled-bytes.ts';
import { countOf } from '../../options.ts';
import { align, median, ratio, spread, tenths, whole } from '../../report.ts';
import { startFanfare } from '../../servers.ts';
import { pinned, scaleCommand } from '../command.ts';
import { sizeFor } from '../size.ts';
import { startTlsClients } from './tls-clients.ts';

/** `npm run bench -- tls`: connections with TLS beside connections without. */

/** Connected before anything is measured. */
const BEFORE = 500;
const LEAST = 1000;

interface Run {
  readonly serverBytes: number;
  readonly kernelBytes: number;
  readonly perSecond: number;
  /** Processor time of the server. Microseconds. */
  readonly usEach: number;
}

interface TlsFigures {
  readonly connections: number;
  readonly load: number;
  readonly plain: readonly Run[];
  readonly encrypted: readonly Run[];
}

const columns: readonly (readonly [
  head: string,
  figure: (run: Run) => number,
  print: (number: number) => string,
])[] = [
  ['server B each', ({ serverBytes }) => serverBytes, whole],
  ['kernel B each', ({ kernelBytes }) => kernelBytes, whole],
  ['new/s', ({ perSecond }) => perSecond, whole],
  ['server µs each', ({ usEach }) => usEach, tenths],
];

export const tls = scaleCommand({
  name: 'tls',
  about: `Connections with TLS beside connections without: memory of each at the server's end, and new connections per second, each
with one subscription and a full handshake of TLS 1.3 with an ECDSA certificate. Two servers in turns, with the same clients.
These do as much work for TLS as the server, so processor time is the figure to read for new connections.`,
  options: {
    connections: { type: 'string', default: '4000' },
    runs: { type: 'string', default: '3' },
  },
  help: [
    ['--connections N', '(4000) fewer if open files or memory do not suffice'],
    ['--runs N', 'measurements of each (3)'],
  ],
  async measure(values, record) {
    const asked = countOf(values.connections, { option: '--connections', min: LEAST });
    const runs = countOf(values.runs, { option: '--runs', min: 1 });
    const figures = await measure(asked, runs);
    console.log(`\n${print(figures)}`);
    record(evidenceOf(figures));
    return { figures };
  },
});

async function measure(asked: number, runs: number): Promise<TlsFigures> {
  const pinning = pinned();
  const { connections, why } = sizeFor(asked);
  console.log(`${whole(connections)} connections: ${why}`);
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-bench-tls-'));
  try {
    const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
    writeFileSync(files.certFile, untrusted.cert);
    writeFileSync(files.keyFile, untrusted.key, { mode: 0o600 });
    const load = loadavg()[0] ?? 0;
    const [plain, encrypted]: [Run[], Run[]] = [[], []];
    for (let run = 1; run <= runs; run += 1) {
      plain.push(await measureOnce(pinning, connections, undefined));
      encrypted.push(await measureOnce(pinning, connections, files));
      console.error(
        `run ${run}: ${whole(encrypted.at(-1)?.perSecond ?? 0)} connections/s with TLS`,
      );
    }
    return { connections, load, plain, encrypted };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureOnce(
  pinning: Pinning,
  connections: number,
  tls: { readonly certFile: string; readonly keyFile: string } | undefined,
): Promise<Run> {
  const bound = connections * 2;
  await using server = await startFanfare(pinning.server, {
    channels: { maxConnections: bound, maxSubscriptions: bound },
    ...(tls === undefined ? {} : { tls }),
  });
  await using clients = startTlsClients(pinning.load);
  const { app, pid } = server;
  const gather = (count: number) =>
    clients.call('gather', { app, isEncrypted: tls !== undefined, count });
  await gather(BEFORE);
  const before = await settledBytes([pid]);
  const usedBefore = processorSeconds(pid);
  const count = connections - BEFORE;
  const seconds = await gather(count);
  const used = processorSeconds(pid) - usedBefore;
  const after = await settledBytes([pid]);
  return {
    serverBytes: ((after.processes[0] ?? 0) - (before.processes[0] ?? 0)) / count,
    // This kernel holds both ends.
    kernelBytes: (after.kernel - before.kernel) / count / 2,
    perSecond: count / seconds,
    usEach: (used / count) * 1e6,
  };
}

function print({ plain, encrypted }: TlsFigures): string {
  const row = (name: string, runs: readonly Run[]) => [
    name,
    ...columns.map(([, figure, show]) => show(median(runs.map(figure)))),
  ];
  const ratiosOf = (figure: (run: Run) => number) =>
    encrypted.map((run, at) => figure(run) / figure(plain[at] ?? run));
  return [
    `Medians of ${plain.length} runs. Memory is of the server's end: the process (Rss), and half of what the kernel's grew by`,
    ...align([
      ['', ...columns.map(([head]) => head)],
      row('without TLS', plain),
      row('with TLS', encrypted),
      ['ratio', ...columns.map(([, figure]) => ratio(median(ratiosOf(figure))))],
      ['spread', ...columns.map(([, figure]) => spread(ratiosOf(figure), ratio))],
    ]),
  ].join('\n');
}

function evidenceOf({ connections, load, plain, encrypted }: TlsFigures): EvidenceResult {
  const pair = (figure: (run: Run) => number, unit = '') =>
    `${whole(median(encrypted.map(figure)))}${unit} (${whole(median(plain.map(figure)))}${unit} without)`;
  return {
    section: 'scale',
    name: 'tls: connections with TLS beside connections without',
    command: `npm run bench -- tls --connections ${connections}`,
    result: 'measured',
    figures: {
      connections,
      'server memory each': pair(({ serverBytes }) => serverBytes, ' B'),
      'new connections per second': pair(({ perSecond }) => perSecond),
      'processor time of a new one': pair(({ usEach }) => usEach, ' µs'),
      'load average before': load.toFixed(1),
    },
  };
}
