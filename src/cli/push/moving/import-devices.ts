import { closeSync, openSync, writeSync } from 'node:fs';
import { fileFault } from '../../../runtime/error-code.ts';
import { printable } from '../../../runtime/logging/printable.ts';
import { countOf, type Invocation, printResult } from '../../invocation.ts';
import { type Arguments, choiceOf, JSON_OPTION, type Option, operandsOf } from '../../options.ts';
import { type ExitCode, UsageError } from '../../output.ts';
import { type PushBackend, pushBackendOf } from './push-backend.ts';
import { RowSender } from './row-sender.ts';
import type { SourceDevice } from './sources/source-row.ts';
import { sourceNames, sourceOf, sources } from './sources/sources.ts';
import { textOf } from './sources/text-source.ts';
import { PUSH_LISTENER_OPTIONS } from './transfer-options.ts';
import { interestOf, validationOf } from './validation.ts';

/** What devices of an import have in common, if nothing else is given. */
const NAME = 'import';

export const DEVICES_IMPORT_OPTIONS: readonly Option[] = [
  {
    name: 'from',
    value: 'SOURCE',
    help: `What FILE is: ${sourceNames.join(', ')}. Default: fanfare, if its name ends with .ndjson or .ndjson.gz.`,
  },
  {
    name: 'name',
    value: 'NAME',
    help: `The name of the import, by which it can be undone. Default: ${NAME}.`,
  },
  {
    name: 'interest',
    value: 'INTEREST',
    several: true,
    help: 'Subscribe every device to this interest, too. May be given several times.',
  },
  { name: 'bundle', value: 'ID', help: 'The bundle id of the app, for tokens of Apple.' },
  { name: 'tags', help: 'Subscribe devices of OneSignal to an interest KEY=VALUE for each tag.' },
  { name: 'dry-run', help: 'Check every row, and write nothing.' },
  {
    name: 'report',
    value: 'FILE',
    help: 'Write the refused rows to this file: row number, field, reason.',
  },
  {
    name: 'rows-per-second',
    value: 'N',
    help: 'Send no more rows than this. Default: as many as the server takes.',
  },
  {
    name: 'validate',
    help: 'Afterwards let Google check the tokens of Android devices, which shows nothing. Dead ones are removed.',
  },
  ...PUSH_LISTENER_OPTIONS,
  JSON_OPTION,
];

/** Rows by what became of them. */
interface Counts {
  rows: number;
  created: number;
  updated: number;
  unchanged: number;
  unsubscribed: number;
  refused: number;
  readonly reasons: Map<string, number>;
}

/** `fanfare devices import`: brings devices of another service to an instance. */
export async function importDevices(invocation: Invocation): Promise<ExitCode> {
  const { given } = invocation;
  const [instance, file] = operandsOf(given, ['INSTANCE', 'FILE']);
  const from = choiceOf(given, { option: 'from', values: sourceNames }) ?? sourceOf(file);
  const name = given.value('name') ?? NAME;
  const isDryRun = given.has('dry-run');
  const rowsPerSecond = rateOf(given);
  const backend = await pushBackendOf(invocation, instance);
  if (backend === undefined) return 2;

  using report = openReport(given.value('report'));
  const counts = newCounts();
  const refuse = (row: number, field: string, reason: string) => {
    counts.refused++;
    const text = field === '' ? reason : `${field} ${reason}`;
    counts.reasons.set(text, (counts.reasons.get(text) ?? 0) + 1);
    report.write(row, field, reason);
  };
  const sender = new RowSender({
    backend,
    name,
    isDryRun,
    rowsPerSecond,
    onResult({ row, status, field, reason }) {
      if (status === 'created' || status === 'updated' || status === 'unchanged') counts[status]++;
      else refuse(row, field, reason);
    },
  });
  const more = [...given.values('interest')];
  const validated = given.has('validate') ? interestOf(name) : undefined;
  const options = { bundle: given.value('bundle'), tags: given.has('tags') };
  for await (const read of sources[from](textOf(file), options)) {
    const row = ++counts.rows;
    if (read.is === 'unsubscribed') counts.unsubscribed++;
    else if (read.is === 'refused') refuse(row, read.field, read.reason);
    else await sender.add(row, withInterests(read.row, more, validated));
  }
  await sender.end();
  const publish =
    validated === undefined || isDryRun ? undefined : await validate(backend, validated);
  const { reasons, ...numbers } = counts;
  printResult(invocation, {
    json: {
      import: name,
      dryRun: isDryRun,
      ...numbers,
      reasons: Object.fromEntries(reasons),
      ...(publish && { publish }),
    },
    text: describe(counts, { instance, name, isDryRun, publish }),
  });
  return counts.refused > 0 ? 1 : 0;
}

function newCounts(): Counts {
  return {
    rows: 0,
    created: 0,
    updated: 0,
    unchanged: 0,
    unsubscribed: 0,
    refused: 0,
    reasons: new Map(),
  };
}

function rateOf(given: Arguments): number {
  const text = given.value('rows-per-second');
  if (text === undefined) return Number.POSITIVE_INFINITY;
  const rate = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (rate < 1) {
    throw new UsageError(`--rows-per-second must be a whole number from 1, not "${text}"`);
  }
  return rate;
}

function withInterests(
  row: SourceDevice,
  more: readonly string[],
  validated: string | undefined,
): SourceDevice {
  const own = Array.isArray(row['interests']) ? row['interests'] : [];
  const interests = new Set([...own, ...more]);
  if (validated !== undefined && row['platform'] === 'fcm') interests.add(validated);
  return interests.size === own.length ? row : { ...row, interests: [...interests] };
}

/** Lets Google check the tokens of an interest. Returns the id of the publish. */
async function validate(backend: PushBackend, interest: string): Promise<string> {
  const { publishId } = await backend.publish(JSON.stringify(validationOf(interest)));
  return String(publishId);
}

interface Report extends Disposable {
  write(row: number, field: string, reason: string): void;
}

/** Opens a file for refused rows, as comma-separated values. Throws `UsageError`. */
function openReport(file: string | undefined): Report {
  if (file === undefined) return { write: () => undefined, [Symbol.dispose]: () => undefined };
  let descriptor: number;
  try {
    descriptor = openSync(file, 'w', 0o600);
  } catch (error) {
    throw new UsageError(`--report: ${file} ${fileFault(error)}`);
  }
  writeSync(descriptor, 'row,field,reason\n');
  return {
    write: (row, field, reason) => {
      writeSync(descriptor, `${row},${quoted(field)},${quoted(reason)}\n`);
    },
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Reasons that are shown. The report has all. */
const REASONS_SHOWN = 20;

function describe(
  { reasons, ...counts }: Counts,
  {
    instance,
    name,
    isDryRun,
    publish,
  }: {
    readonly instance: string;
    readonly name: string;
    readonly isDryRun: boolean;
    readonly publish: string | undefined;
  },
): string {
  const width = Math.max(...Object.keys(counts).map(({ length }) => length));
  const table = Object.entries(counts).map(
    ([what, count]) => `${what.padEnd(width)}  ${String(count).padStart(9)}`,
  );
  const sorted = [...reasons].sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, REASONS_SHOWN);
  const others = sorted.length - shown.length;
  return [
    ...table,
    ...shown.map(([reason, count]) => printable(`  ${String(count).padStart(9)}  ${reason}`)),
    ...(others > 0 ? [`  and ${countOf(others, 'reason')} more: see --report`] : []),
    isDryRun ? 'Nothing was written.' : `Undo it: fanfare devices undo-import ${instance} ${name}`,
    ...(publish === undefined ? [] : [`Google checks the tokens: fanfare push status ${publish}`]),
  ].join('\n');
}
