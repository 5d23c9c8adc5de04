import type { Dialect } from '../../src/stores/database/dialect.ts';
import { align, median, ratio, spread, whole } from '../report.ts';
import type { AudienceQuestion } from './audience-questions.ts';
import type { Reading } from './audience-reader.ts';
import type { Seeded } from './audience-seed.ts';
import type { Crowds } from './crowds.ts';

/** With how many devices the targets are meant. */
const TARGET_DEVICES = 1_000_000;

const MEBIBYTE = 2 ** 20;

/** One audience, read several times both ways. */
export interface Answered {
  readonly question: AudienceQuestion;
  readonly readings: readonly { readonly fanfare: Reading; readonly bare: Reading }[];
}

const seconds = (number: number): string => number.toFixed(2);
const ms = (number: number): string => number.toFixed(1);
const mebibytes = (bytes: number): string => whole(bytes / MEBIBYTE);

export function printSeeded(dialect: Dialect, { wide, deep }: Crowds, seeded: Seeded): string {
  const { bytesPerDevice, bytesPerInterest } = seeded;
  const all = bytesPerDevice + wide.interests * bytesPerInterest;
  return (
    `${dialect}: ${whole(wide.devices)} devices with ${wide.interests} interests each, ` +
    `${whole(deep.devices)} with ${deep.interests}; FCM tokens of 163 characters, as real ones\n` +
    `seeded in ${seconds(seeded.seconds)} s; on disk ${whole(all)} bytes per device with ` +
    `${wide.interests} interests: ${whole(bytesPerDevice)} and ${whole(bytesPerInterest)} for each interest`
  );
}

/** The table of one trial, and what became of the targets. */
export function printPlanning(
  dialect: Dialect,
  devices: number,
  answers: readonly Answered[],
): string {
  const rows = answers.map(({ question, readings }) => {
    const fanfare = readings.map((run) => run.fanfare);
    const took = fanfare.map((run) => run.seconds);
    const bare = readings.map((run) => run.bare.seconds);
    const most = fanfare.toSorted((a, b) => b.rssBytes.most - a.rssBytes.most)[0]?.rssBytes;
    return [
      question.name,
      whole(question.devices),
      seconds(median(took)),
      spread(took, seconds),
      seconds(median(bare)),
      ratio(median(took.map((one, index) => one / (bare[index] ?? 0)))),
      ms(Math.max(...fanfare.map((run) => run.stallMs))),
      ms(Math.max(...readings.map((run) => run.bare.stallMs))),
      [most?.start, most?.half, most?.most, most?.end]
        .map((bytes) => mebibytes(bytes ?? 0))
        .join(' '),
    ];
  });
  return [
    `seconds to read an audience page by page, median of ${answers[0]?.readings.length ?? 0}; bare: as many rows of one table`,
    ...align([
      [
        '',
        'devices',
        's',
        'spread',
        'bare s',
        'times',
        'stall ms',
        'bare',
        'MiB at start, half, most, end',
      ],
      ...rows,
    ]),
    ...answers.flatMap((answered) => judged(dialect, devices, answered)),
  ].join('\n');
}

function judged(dialect: Dialect, devices: number, { question, readings }: Answered): string[] {
  const max = question.secondsMax[dialect];
  if (max === undefined || devices !== TARGET_DEVICES) return [];
  const isReached = median(readings.map(({ fanfare }) => fanfare.seconds)) <= max;
  return [`target: ${question.name} <= ${seconds(max)} s, ${isReached ? 'reached' : 'missed'}`];
}
