import { type MetricId, type MetricRow, metricRows } from './metrics-table.ts';

/** The metrics of one loop, in a form that can be sent to another thread. */
export type MetricValues = ReadonlyMap<MetricId, ReadonlyMap<string, number>>;

/** The label of the only series of a metric without labels. */
const UNLABELLED = '';

/** The metrics of one loop. A count costs two look-ups and an addition. */
export class TableMeter {
  private readonly values = new Map<MetricId, Map<string, number>>();

  /** Adds to a counter. */
  count(id: MetricId, by = 1, label = UNLABELLED): void {
    const series = this.seriesOf(id);
    series.set(label, (series.get(label) ?? 0) + by);
  }

  /** Sets a gauge. */
  set(id: MetricId, value: number, label = UNLABELLED): void {
    this.seriesOf(id).set(label, value);
  }

  snapshot(): MetricValues {
    return new Map([...this.values].map(([id, series]) => [id, new Map(series)]));
  }

  private seriesOf(id: MetricId): Map<string, number> {
    let series = this.values.get(id);
    if (series === undefined) {
      series = new Map();
      this.values.set(id, series);
    }
    return series;
  }
}

/**
 * Prints metrics in Prometheus' text format, version 0.0.4, summed over all loops. A counter that has not counted yet
 * is 0, so that Prometheus sees its first increase.
 */
export function printMetrics(loops: readonly MetricValues[]): string {
  const lines: string[] = [];
  for (const [id, row] of Object.entries(metricRows) as [MetricId, MetricRow][]) {
    const { values: always = [UNLABELLED], more = [] } = row.label ?? {};
    const shown = [...always, ...more].flatMap((label) => {
      const values = loops.flatMap((loop) => loop.get(id)?.get(label) ?? []);
      if (values.length === 0 && (row.kind === 'gauge' || more.includes(label))) return [];
      const value = values.reduce((sum, one) => sum + one, 0);
      return [
        `${row.name}${row.label === undefined ? '' : `{${row.label.name}="${label}"}`} ${value}`,
      ];
    });
    if (shown.length === 0) continue;
    lines.push(`# HELP ${row.name} ${row.help}`, `# TYPE ${row.name} ${row.kind}`, ...shown);
  }
  return `${lines.join('\n')}\n`;
}

/** Prints `docs/metrics.md`. */
export function printMetricsPage(): string {
  const rows = (Object.values(metricRows) as MetricRow[]).map(({ name, kind, help, label }) => {
    const labels = label === undefined ? '' : `\`${label.name}\`: ${valuesOf(label)}`;
    return `| \`${name}\` | ${kind} | ${labels} | ${help} |`;
  });
  return [
    '# Metrics',
    '',
    'The metrics at `/metrics` on the admin listener, in the text format of Prometheus. No label is open-ended: figures per app',
    'are in the [admin API](admin-api.md). `npm run docs` prints this page from the table that the server uses.',
    '',
    '| metric | kind | label | what it is |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

function valuesOf({ values, more = [] }: NonNullable<MetricRow['label']>): string {
  const [first] = more;
  const others = first === undefined ? [] : [`${first} to ${more.at(-1)}`];
  return [...values, ...others].join(', ');
}
