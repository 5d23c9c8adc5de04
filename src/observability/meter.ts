import { type MetricId, type MetricRow, metricRows } from './metrics-table.ts';

/** The values of one loop's metrics, as they can be sent to another thread. */
export type MetricValues = ReadonlyMap<MetricId, ReadonlyMap<string, number>>;

/** The one series of a metric without a label. */
const UNLABELLED = '';

/** Counts and measures; each loop has its own. A count costs two look-ups and an addition. */
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
 * Prints metrics in Prometheus' text format, version 0.0.4; what several loops count is added up. A counter
 * that nothing has counted yet is shown as 0, so that the first increase is seen as one.
 */
export function printMetrics(loops: readonly MetricValues[]): string {
  const lines: string[] = [];
  for (const [id, row] of Object.entries(metricRows) as [MetricId, MetricRow][]) {
    const labels = row.label?.values ?? [UNLABELLED];
    const shown = labels.flatMap((label) => {
      const values = loops.flatMap((loop) => loop.get(id)?.get(label) ?? []);
      if (values.length === 0 && row.kind === 'gauge') return [];
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

/** `docs/metrics.md`. */
export function printMetricsPage(): string {
  const rows = (Object.values(metricRows) as MetricRow[]).map(({ name, kind, help, label }) => {
    const labels = label === undefined ? '' : `\`${label.name}\`: ${label.values.join(', ')}`;
    return `| \`${name}\` | ${kind} | ${labels} | ${help} |`;
  });
  return [
    '# Metrics',
    '',
    'What `/metrics` on the admin listener shows, in the text format of Prometheus. No label is open-ended: figures per app',
    'are in the admin API. This page is printed from the table that the server itself uses by `npm run docs`.',
    '',
    '| metric | kind | label | what it is |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
