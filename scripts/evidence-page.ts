import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EVIDENCE_FOLDER,
  type EvidenceRow,
  type EvidenceSection,
  evidenceSections,
  type Machine,
  readEvidence,
} from '../testing/evidence/rows.ts';

const ROOT = join(import.meta.dir, '..');

/** A fault of the server that such a run has found. */
export interface MendedFault {
  /** What found it, for example `npm run test:faults -- --only redis`. */
  readonly by: string;
  /** The promise that was broken. */
  readonly rule: string;
  /** What was wrong, and since when it is right. */
  readonly what: string;
}

interface Heading {
  readonly title: string;
  readonly text: string;
}

const headings: Readonly<Record<EvidenceSection, Heading>> = {
  simulation: {
    title: 'Simulated',
    text: 'The real server, and stock `pusher-js`, on a clock, a network, a Redis and a disk that a seed steers. The same seed gives the same run.',
  },
  sabotage: {
    title: 'Broken on purpose',
    text: 'A checker that never failed proves nothing. Each row is a fault that was planted, and the promise that the checker then found broken.',
  },
  faults: {
    title: 'Real faults',
    text: 'Real processes, sockets, Redis and PostgreSQL, under the clients and the checker of `fanfare verify`.',
  },
  power: {
    title: 'Power',
    text: 'The file system of the store loses everything that was not synced, and the server is killed at the same moment. Then everything that was answered is looked for. A disk that says it has synced and has not breaks every database, and is not tried.',
  },
  upgrades: {
    title: 'Upgrades',
    text: 'Servers are replaced by those of another version, one after the other and back, under load.',
  },
  verify: {
    title: 'Hours of `fanfare verify`',
    text: 'What an operator can run against the own installation: [verify](verify.md).',
  },
  scale: {
    title: 'Scale',
    text: 'Figures depend on the machine; those of one row were measured in one run.',
  },
  recovery: {
    title: 'Recovery',
    text: 'From the fault until clients are connected, subscribed and right again.',
  },
};

/** What no run covers, beside the rows that a machine could not run. */
const NOT_COVERED = [
  'a million connections on one machine',
  'disks that lie about what is synced',
  'several regions',
  'APNs, FCM and the push services of browsers themselves: stand-ins answer in their place',
  'a simulated PostgreSQL: what is its own is run with the real one',
  'an audit by somebody else: the format of a history and the checker are documented, so that anybody can do it',
];

/** Prints `docs/use/evidence.md`. */
export function printEvidence(): string {
  return printRows(readEvidence(), {
    mended: [
      ...readList<MendedFault>(join(EVIDENCE_FOLDER, 'mended.json')),
      ...readList<MendedSeed>(join(ROOT, 'test/simulation/seeds.json')).map(faultOfSeed),
    ],
    released: lastRelease(),
  });
}

/** A seed that failed once, as `test/simulation/seeds.json` has it. */
interface MendedSeed {
  readonly world: string;
  readonly seed: number;
  readonly rule: string;
  readonly mended: string;
}

const faultOfSeed = ({ world, seed, rule, mended }: MendedSeed): MendedFault => ({
  by: `npm run simulate -- --world ${world} --seed ${seed}`,
  rule,
  what: mended,
});

interface PageParts {
  readonly mended: readonly MendedFault[];
  /** The last version that was released. Runs of an earlier one are old. */
  readonly released: string;
}

/** The page of these runs. */
export function printRows(rows: readonly EvidenceRow[], { mended, released }: PageParts): string {
  const machines = [...new Set(rows.map(({ machine }) => machineText(machine)))];
  const parts = [
    `# Evidence

Why you can believe the [guarantees](guarantees.md): what was run, how often, and the command that repeats it. Printed by \`npm run docs\` from the runs in \`bench/evidence/\`.`,
    ...evidenceSections.flatMap((section) => {
      const own = rows.filter((row) => row.section === section && row.result !== 'not run');
      return own.length === 0 ? [] : [printSection(headings[section], own, { machines, released })];
    }),
    ...(mended.length === 0 ? [] : [printMended(mended)]),
    printNotRun(rows),
    `## Machines\n\n${machines.map((text, at) => `${at + 1}. ${text}`).join('\n')}`,
  ];
  return `${parts.join('\n\n')}\n`;
}

function printSection(
  { title, text }: Heading,
  rows: readonly EvidenceRow[],
  { machines, released }: { readonly machines: readonly string[]; readonly released: string },
): string {
  const lines = rows.map((row) => {
    const figures = Object.entries(row.figures).map(([name, value]) => figureText(name, value));
    const result = row.why === undefined ? row.result : `${row.result}: ${row.why}`;
    const isOld = Bun.semver.order(row.version, released) < 0;
    const run = `${row.commit.slice(0, 10)}, ${row.date}, machine ${machines.indexOf(machineText(row.machine)) + 1}${isOld ? ', old' : ''}`;
    return [row.name, result, figures.join(', '), run, `\`${row.command}\``];
  });
  return `## ${title}\n\n${text}\n\n${table(['what', 'result', 'figures', 'run', 'command'], lines)}`;
}

function printMended(mended: readonly MendedFault[]): string {
  const lines = mended.map(({ by, rule, what }) => [what, rule, `\`${by}\``]);
  return `## Found this way, and mended\n\n${table(['what was wrong', 'promise', 'found by'], lines)}`;
}

/** What a machine could not run, the kinds of runs of which none is kept, and what no run covers. */
function printNotRun(rows: readonly EvidenceRow[]): string {
  const impossible = rows
    .filter(({ result }) => result === 'not run')
    .map(({ name, why = 'not possible on this machine' }) => `${name}: ${why}`);
  const missing = evidenceSections
    .filter((section) => rows.every((row) => row.section !== section))
    .map((section) => `${headings[section].title}: no run is kept`);
  return `## Not run or not kept\n\n${[...impossible, ...missing, ...NOT_COVERED].map((text) => `- ${text}`).join('\n')}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

const figureText = (name: string, value: string | number) =>
  typeof value === 'number' ? `${value.toLocaleString('en')} ${name}` : `${name} ${value}`;

const machineText = ({ cpu, cores, memoryGiB, kernel }: Machine) =>
  `${cpu}, ${cores} cores, ${memoryGiB} GiB, Linux ${kernel}`;

/** The newest version in the changelog that has a date. */
function lastRelease(): string {
  const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
  return /^## (\d+\.\d+\.\d+) — /m.exec(changelog)?.[1] ?? '0.0.0';
}

function readList<T>(path: string): readonly T[] {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : [];
}
