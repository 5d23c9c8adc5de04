import { describe, expect, it } from 'bun:test';
import { type MetricRow, metricRows } from './metrics-table.ts';

/** The example rules in `docs/alerts.yml`. */

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

const file = new URL('../../docs/alerts.yml', import.meta.url).pathname;
const parsed = Bun.YAML.parse(await Bun.file(file).text()) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = parsed.groups.flatMap((group) => group.rules);
const rows: readonly MetricRow[] = Object.values(metricRows);

/** Every series name that a metric has. */
const seriesOf = ({ name, kind }: MetricRow) =>
  kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];

describe('an alert', () => {
  it.each(rules)('is about metrics that there are: $alert', ({ expr, annotations }) => {
    const names: readonly string[] = expr.match(/fanfare_\w+/g) ?? [];
    expect(names).not.toBeEmpty();
    expect(rows.flatMap(seriesOf)).toEqual(expect.arrayContaining([...names]));
    // A counter says nothing by itself, since it begins at 0 with every start.
    for (const { name, kind } of rows) {
      if (kind === 'counter' && names.includes(name)) expect(expr).toContain(`increase(${name}[`);
    }
    const row = rows.find((one) => seriesOf(one).includes(names[0] ?? ''));
    for (const [, label] of annotations.summary.matchAll(/\$labels\.(\w+)/g)) {
      expect(['instance', row?.label?.name]).toContain(label);
    }
  });

  it('has a name of its own and a severity, and a line in docs/operate.md', async () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    const page = await Bun.file(new URL('../../docs/operate.md', import.meta.url)).text();
    const documented = [...page.matchAll(/^\| `(Fanfare\w+)` \|/gm)].map(([, name]) => name);
    expect(documented).toEqual(rules.map(({ alert }) => alert));
    for (const { labels } of rules)
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
  });

  it('is what Prometheus can read, where there is a promtool to ask', () => {
    const promtool = Bun.which('promtool');
    if (promtool === null) return expect(rules.length).toBeGreaterThan(0);
    const { exitCode, stderr } = Bun.spawnSync([promtool, 'check', 'rules', file]);
    expect(stderr.toString()).toBe('');
    expect(exitCode).toBe(0);
  });
});
