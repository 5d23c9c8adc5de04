import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from '../../src/verify/check/check.ts';
import { readHistory } from '../../src/verify/history/read-history.ts';
import { describeConditions } from '../machine/conditions.ts';
import { countOf, parseOptions, writeResults } from '../options.ts';
import { printConditions } from '../report.ts';

const help = `What judging a recording costs, in memory and processor time, with fanfare verify --check. Every event has an id.

npm run bench -- check [options]

  --deliveries N  how many the recording has (1000000)
  --clients N     how many receive each event (2): the fewer, the more memory each delivery takes
  --json FILE     also write the results to this file
  --help          print this
`;

/** More memory for each delivery is not as specified. */
const BYTES_MAX = 200;
const LINES_AT_ONCE = 5000;

export async function benchCheck(args: string[]): Promise<number> {
  const { values } = parseOptions({
    args,
    options: {
      deliveries: { type: 'string', default: '1000000' },
      clients: { type: 'string', default: '2' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const deliveries = countOf(values.deliveries, { option: '--deliveries', min: 1 });
  const clients = countOf(values.clients, { option: '--clients', min: 1 });
  console.log(printConditions(describeConditions('not pinned')));
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-check-'));
  try {
    const file = join(folder, 'history.jsonl');
    const lines = writeHistory(file, deliveries, clients);
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    const used = process.cpuUsage();
    const { rules } = check(readHistory(file));
    const { user, system } = process.cpuUsage(used);
    // In KiB: the highest that this process ever had.
    const bytes = (process.resourceUsage().maxRSS * 1024 - before) / deliveries;
    const figures = { bytesPerDelivery: bytes, microsecondsPerLine: (user + system) / lines };
    console.log(
      `${bytes.toFixed(0)} bytes a delivery at the peak (at most ${BYTES_MAX}), ${figures.microsecondsPerLine.toFixed(1)} µs of processor time a line`,
    );
    await writeResults(values.json, { deliveries, clients, ...figures });
    const areHeld = rules.order.state === 'held' && rules.resumes.state === 'held';
    return areHeld && bytes <= BYTES_MAX ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes a history of one channel with ids. Returns how many lines it has. */
function writeHistory(file: string, deliveries: number, clients: number): number {
  const descriptor = openSync(file, 'wx');
  let waiting: string[] = [];
  let count = 0;
  const flush = () => {
    writeSync(descriptor, waiting.join(''));
    waiting = [];
  };
  for (const line of linesOf(deliveries, clients)) {
    count++;
    waiting.push(`${JSON.stringify(line)}\n`);
    if (waiting.length === LINES_AT_ONCE) flush();
  }
  flush();
  closeSync(descriptor);
  return count;
}

function* linesOf(deliveries: number, clients: number): Iterable<object> {
  const ch = 'kept';
  yield { history: 1, rules: { kept: [ch], replay: [] } };
  for (let c = 1; c <= clients; c++) {
    yield { op: 'open', t: 0, c, n: 1, socket: `1.${c}` };
    yield { op: 'subscribe', t: 0, c, n: 1, ch, after: '0-00000000' };
    const resume = { ok: true, missed: 0, id: '0-00000000' };
    yield { op: 'subscribed', t: 0, c, n: 1, ch, resume };
  }
  for (let t = 1; t <= deliveries / clients; t++) {
    const e = String(t);
    const id = `${t}-${(t * 7_919_777).toString(36).padStart(8, '0').slice(-8)}`;
    yield { op: 'trigger', t, e, ch: [ch] };
    yield { op: 'answer', t, e, status: 200, ids: { [ch]: id } };
    for (let c = 1; c <= clients; c++) yield { op: 'event', t, c, n: 1, ch, e, id };
  }
}
