import {
  type HistogramId,
  type LabelledId,
  type LabelOf,
  type MetricId,
  type MetricRow,
  metricRows,
} from './metrics-table.ts';

/** The metrics of one loop, in a form that can be sent to another thread. */
export type MetricValues = ReadonlyMap<MetricId, ReadonlyMap<string, number>>;

/** The label of the only series of a metric without labels. */
const UNLABELLED = '';

/** The labels of a histogram's last bucket, and of the sum of all values. */
const INFINITE = '+Inf';
const SUM = 'sum';

/**
 * Counts in the series of one label, or in the only series of a metric. There is a signature for each metric with labels, and
 * none is generic: of generic ones, the compiler would not compare the labels with those that other rooms count.
 */
type Count = AllOf<
  { readonly [Id in LabelledId]: (id: Id, by: number, label: LabelOf<Id>) => void }[LabelledId]
> &
  ((id: Exclude<MetricId, LabelledId>, by?: number) => void);

/** The intersection of a union: overloads of one function, if these are functions. */
type AllOf<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer Intersection,
) => void
  ? Intersection
  : never;

/** The metrics of one loop. A count costs two look-ups and an addition. */
export class TableMeter {
  private readonly values = new Map<MetricId, Map<string, number>>();

  /** Adds to a counter. Labels that the table lacks would not be printed, and do not compile. */
  readonly count: Count = (id: MetricId, by = 1, label: string = UNLABELLED) => {
    this.add(id, by, label);
  };

  /** Adds a value to a histogram. */
  observe(id: HistogramId, value: number): void {
    const bound = metricRows[id].buckets.find((most) => value <= most);
    this.add(id, 1, bound === undefined ? INFINITE : String(bound));
    this.add(id, value, SUM);
  }

  /** Sets a gauge. */
  set<Id extends LabelledId>(id: Id, value: number, label: LabelOf<Id>): void;
  set(id: Exclude<MetricId, LabelledId>, value: number): void;
  set(id: MetricId, value: number, label: string = UNLABELLED): void {
    this.seriesOf(id).set(label, value);
  }

  /** Sets a gauge for each of its labels. */
  setEach<Id extends LabelledId, Label extends LabelOf<Id> & string>(
    id: Id,
    values: Readonly<Record<Label, number>>,
  ): void {
    const series = this.seriesOf(id);
    for (const [label, value] of Object.entries<number>(values)) series.set(label, value);
  }

  snapshot(): MetricValues {
    return new Map([...this.values].map(([id, series]) => [id, new Map(series)]));
  }

  private add(id: MetricId, by: number, label: string): void {
    const series = this.seriesOf(id);
    series.set(label, (series.get(label) ?? 0) + by);
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
    const valuesOf = (label: string) => loops.flatMap((loop) => loop.get(id)?.get(label) ?? []);
    const shown = row.kind === 'histogram' ? histogram(row, valuesOf) : series(row, valuesOf);
    if (shown.length === 0) continue;
    lines.push(`# HELP ${row.name} ${row.help}`, `# TYPE ${row.name} ${row.kind}`, ...shown);
  }
  return `${lines.join('\n')}\n`;
}

/** The values of one series, by loop. */
type ValuesOf = (label: string) => readonly number[];

function series({ name, kind, label: named }: MetricRow, valuesOf: ValuesOf): readonly string[] {
  const { values: always = [UNLABELLED], more = [] } = named ?? {};
  return [...always, ...more].flatMap((label) => {
    const values = valuesOf(label);
    if (values.length === 0 && (kind === 'gauge' || more.includes(label))) return [];
    return [`${name}${named === undefined ? '' : `{${named.name}="${label}"}`} ${sum(values)}`];
  });
}

function histogram({ name, buckets = [] }: MetricRow, valuesOf: ValuesOf): readonly string[] {
  let count = 0;
  const lines = [...buckets.map(String), INFINITE].map((bound) => {
    count += sum(valuesOf(bound));
    return `${name}_bucket{le="${bound}"} ${count}`;
  });
  return [...lines, `${name}_sum ${sum(valuesOf(SUM))}`, `${name}_count ${count}`];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, one) => total + one, 0);
}

/** Prints `docs/reference/metrics.md`. */
export function printMetricsPage(): string {
  const rows = (Object.values(metricRows) as MetricRow[]).map(
    ({ name, kind, help, label, buckets }) => {
      const bounds = buckets && { name: 'le', values: [`${buckets[0]} to ${buckets.at(-1)}`] };
      const shown = label ?? bounds;
      const labels = shown === undefined ? '' : `\`${shown.name}\`: ${valuesOf(shown)}`;
      return `| \`${name}\` | ${kind} | ${labels} | ${help} |`;
    },
  );
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
