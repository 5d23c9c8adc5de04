import type { Recovery } from '../../../src/verify/check/verdict.ts';
import type { EvidenceResult } from '../../../testing/evidence/rows.ts';
import { align, median } from '../../report.ts';

/** How soon the clients of a scene were right again. */
export interface SceneRecovery {
  readonly scene: string;
  /** Why it was not run, or what is wrong with it. */
  readonly why?: string;
  readonly isRun: boolean;
  /** Of each fault. */
  readonly recovered: readonly Recovery[];
  readonly load: number;
}

const columns: readonly (readonly [head: string, figure: (all: readonly Recovery[]) => number])[] =
  [
    ['first', (all) => median(all.map(({ first }) => first ?? Number.POSITIVE_INFINITY))],
    ['half', (all) => median(all.map((each) => each.median ?? Number.POSITIVE_INFINITY))],
    ['all', (all) => median(all.map(({ seconds }) => seconds ?? Number.POSITIVE_INFINITY))],
    [
      'slowest',
      (all) => Math.max(...all.map(({ seconds }) => seconds ?? Number.POSITIVE_INFINITY)),
    ],
  ];

const cell = (seconds: number, unit = ''): string =>
  Number.isFinite(seconds) ? `${seconds.toFixed(1)}${unit}` : 'never';

export function printRecovery(found: readonly SceneRecovery[]): string {
  return [
    'Seconds from a fault until the first, half and all of the clients that it has reached were right again: medians of all faults',
    'of a scene, and the slowest one',
    ...align([
      ['', 'faults', ...columns.map(([head]) => head), ''],
      ...found.map(({ scene, recovered, why = '' }) => [
        scene,
        String(recovered.length),
        ...columns.map(([, figure]) => (recovered.length === 0 ? '' : cell(figure(recovered)))),
        why,
      ]),
    ]),
  ].join('\n');
}

export function evidenceOf(
  { scene, why, isRun, recovered, load }: SceneRecovery,
  kills: number,
): EvidenceResult {
  const result = why === undefined ? 'measured' : 'broken';
  const figures = columns.map(([head, figure]) => [head, cell(figure(recovered), ' s')]);
  return {
    section: 'recovery',
    name: scene,
    command: `npm run bench -- recovery --kills ${kills} --only '${scene}'`,
    result: isRun ? result : 'not run',
    ...(why === undefined ? {} : { why }),
    figures: {
      faults: recovered.length,
      ...(recovered.length === 0 ? {} : Object.fromEntries(figures)),
      'load average before': load.toFixed(1),
    },
  };
}
